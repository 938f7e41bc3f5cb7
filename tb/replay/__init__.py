"""Tests of the event model."""
