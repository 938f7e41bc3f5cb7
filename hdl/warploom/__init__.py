"""Warploom's RTL: one block in each module, a package for each part of the machine."""
