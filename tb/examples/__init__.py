"""Benches of the examples: a core behind the ports, and kernels on it."""
