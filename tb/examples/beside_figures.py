"""``make beside-streams``: the figures of a merged kernel beside streams, their page and plot."""

import argparse
from typing import Final

from tb.examples import beside_streams, merged_spin
from tb.examples.beside_streams import EQUAL, LENGTHS, ROOT, SMS
from warploom_dev.beside_streams import FIGURES, read_figures, write_page
from warploom_sim.json_file import write_json

#: By length, how many blocks of a task are run: a simulation of more work takes too long.
_BLOCKS: Final = {"short": (2, 8, 32), "long": (2, 8, 32), "longest": (2,), EQUAL: (2,)}
#: SMs, blocks of a task, length: each row of the comparison with streams.
CHOICES: Final = [
    (sms, blocks, length) for sms in SMS for length in LENGTHS for blocks in _BLOCKS[length]
]


def main() -> None:
    """Measure, then write the figures, the page's tables and the plot."""
    parser = argparse.ArgumentParser(prog="make beside-streams", description=__doc__)
    parser.add_argument(
        "--draw", action="store_true", help="measure nothing: write page and plot from the figures"
    )
    if not parser.parse_args().draw:
        figures = {
            "beside": beside_streams.measure(CHOICES),
            "spin": merged_spin.measure(merged_spin.CHOICES),
        }
        write_json(ROOT / FIGURES, figures)
    write_page(ROOT, read_figures(ROOT))
    print(f"written: {FIGURES}, and the page and plot of it")


if __name__ == "__main__":
    main()
