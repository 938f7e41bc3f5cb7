"""Tests of the block dispatcher and the grid walker."""
