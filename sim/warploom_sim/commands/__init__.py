"""The commands of ``warploom``, one in each module."""
