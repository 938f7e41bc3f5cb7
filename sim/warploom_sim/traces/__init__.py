"""Recorded traces: reading them, and the launches that are made of them."""
