"""Tests of launch check and launch path."""
