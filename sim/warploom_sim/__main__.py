"""``python -m warploom_sim``: the command ``warploom``."""

from warploom_sim.cli import main

main(prog_name="warploom")
