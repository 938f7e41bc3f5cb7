"""Warploom's RTL: one block in each module."""

from warploom import _signal_names

_signal_names.install()
