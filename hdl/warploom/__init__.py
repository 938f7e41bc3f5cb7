"""Warploom's RTL: one block in each module, a package for each part of the machine."""

from warploom import _signal_names

_signal_names.install()
