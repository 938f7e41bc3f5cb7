"""Tests of the shared specification."""
