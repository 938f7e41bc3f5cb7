"""Tests of the tool."""
