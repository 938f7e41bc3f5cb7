"""Tests of parts that several blocks use."""
