"""Merged kernels: several tasks run as one kernel, by a mapping table, in order of its entries."""
