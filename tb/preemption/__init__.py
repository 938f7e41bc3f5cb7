"""Kernel queue and preemption."""
