"""A system on a chip whose soft core launches kernels: LiteX, VexRiscv, FrontEnd, SimtCores."""
