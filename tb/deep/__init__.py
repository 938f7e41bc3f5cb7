"""Test benches that take minutes."""
