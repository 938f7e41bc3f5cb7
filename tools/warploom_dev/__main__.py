"""``python -m warploom_dev``."""

from warploom_dev.cli import main

main(prog_name="python -m warploom_dev")
