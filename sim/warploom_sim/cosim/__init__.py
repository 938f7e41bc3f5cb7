"""Simulators, and RTL beside its golden model in lockstep."""
