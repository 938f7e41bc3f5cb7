"""Warploom's RTL: one block in each module."""
