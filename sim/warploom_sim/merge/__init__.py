"""Merged kernels for users: traces and task files in, cycles beside those of separate launches."""
