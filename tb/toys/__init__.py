"""A toy resource and a toy opcode, added to a copy of the product as CONTRIBUTING says."""
