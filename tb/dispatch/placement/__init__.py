"""Tests of the placement policies."""
