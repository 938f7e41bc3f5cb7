"""Tests of deferred submission."""
