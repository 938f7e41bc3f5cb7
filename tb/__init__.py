"""Tests and test benches."""
