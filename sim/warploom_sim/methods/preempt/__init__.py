"""Measures the latency and the cost of preemption: the kernel queue's model runs traces."""
