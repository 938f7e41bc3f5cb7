"""Placement policies: which SM gets the next block."""
