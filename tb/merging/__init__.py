"""Tests of merged kernels."""
