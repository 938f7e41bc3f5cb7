"""Measures what preemption costs and wins: recorded traces through the kernel queue's model."""
