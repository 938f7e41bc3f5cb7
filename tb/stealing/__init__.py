"""Tests of the work-stealing model."""
