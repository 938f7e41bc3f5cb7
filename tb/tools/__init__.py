"""Tests of the project's own measuring."""
