"""Tests of blocks inside an SM."""
