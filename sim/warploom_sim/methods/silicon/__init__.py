"""Recordings of a real GPU's block dispatcher beside the golden one."""
