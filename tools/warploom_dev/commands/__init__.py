"""The commands of ``python -m warploom_dev``."""
