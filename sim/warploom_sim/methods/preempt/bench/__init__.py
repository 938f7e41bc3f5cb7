"""Test bench of ``warploom preempt --rtl``: QueuedLaunchPath between a host and stand-in SMs."""
