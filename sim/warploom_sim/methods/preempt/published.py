"""Published figures that a measurement is compared with."""

from typing import Final

#: Each row: the measured quantity, its figure, and the source in `SOURCES`.
PUBLISHED: Final = (
    ("waiting for a window of 8 commands of 0.5 ms, P99", "about 8 commands", "XSched"),
    ("waiting for the running command of 0.5 ms, P99", "about 1 command", "XSched"),
    ("killing the running command, GV100", "32 us", "XSched"),
    ("a flag checked in every kernel: slowdown", "2.1 to 4.0 %", "XSched"),
    ("synchronous launching: slowdown", "8 to 151 %", "XSched"),
    ("high-priority stream beside blocks of 10 us, median", "19.1 us", "H200"),
    ("high-priority stream beside blocks of 100 us, median", "88.0 us", "H200"),
    ("high-priority stream beside blocks of 1 ms, median", "580 us", "H200"),
    ("high-priority stream beside blocks of 5 ms, median", "3,227 us", "H200"),
)
SOURCES: Final = (
    "XSched: OSDI 2025, figures 5, 11 and 12. H200: measured with two streams of different"
    " priority, see docs/preemption/preemption.md."
)
