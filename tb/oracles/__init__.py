"""Tests of what is independent of the cycle models."""
