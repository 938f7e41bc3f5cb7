"""Test bench of ``warploom preempt --rtl``: LaunchPath between a host and stand-in SMs."""
