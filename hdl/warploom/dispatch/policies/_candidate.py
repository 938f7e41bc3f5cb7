"""An SM's number beside its decoded halves: rows of SMs, and columns in a row."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from warploom_spec import Config


class Candidate(wiring.Signature):
    """An SM that may get the next block: ``number``, and its ``column`` and ``row``, one-hot.

    SM n stands in column n mod C and in row n / C, with C the power of two that halves the number's
    bits. So one bit of many is found behind few gates.
    """

    def __init__(self, config: Config) -> None:
        half = config.sm_bits // 2
        super().__init__(
            {
                "number": Out(config.sm_bits),
                "column": Out(1 << half),
                "row": Out(-(-config.sms >> half)),
            }
        )


def take(m: Module, candidate: "wiring.PureInterface", sm: Value) -> None:
    """Let the candidate's registers take an SM's number; under ``m.If``."""
    columns, rows = len(candidate.column), len(candidate.row)
    half = columns.bit_length() - 1
    m.d.sync += [
        candidate.number.eq(sm),
        candidate.column.eq(Cat(sm[:half] == k for k in range(columns)) if half else 1),
        candidate.row.eq(Cat(sm[half:] == k for k in range(rows))),
    ]


def bit_of(m: Module, name: str, candidate: "wiring.PureInterface", bits: Signal) -> Signal:
    """Return the candidate's bit of a bit for each SM."""
    columns = len(candidate.column)
    rows = Signal(len(candidate.row), name=f"{name}_by_row")
    found = Signal(name=name)
    m.d.comb += [
        rows.eq(
            Cat(
                (bits[k * columns : (k + 1) * columns] & candidate.column).any()
                for k in range(len(rows))
            )
        ),
        found.eq((rows & candidate.row).any()),
    ]
    return found
