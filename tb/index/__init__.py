"""Tests of thread indices."""
