"""Tests of the dispatcher's SM port."""
