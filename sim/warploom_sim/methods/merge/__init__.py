"""``warploom merge``: cycles of merged kernels and of separate launches, side by side."""
