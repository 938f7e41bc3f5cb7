"""The table of a comparison: a row for each combination, traces one under the other."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from warploom_sim.screen import MOST_WIDTH, columns_given
from warploom_sim.sweep.combinations import Verdict, told_apart
from warploom_sim.sweep.labels import common, label, same_work, short, value, varying
from warploom_sim.sweep.run_figures import PERCENTILES

#: Parts of a run's identity that change history hits: the table shows hits where these differ.
_INDEX: Final = ("allocator", "history_entries", "index_memory_warps")
#: From this part of a run on, what the time scale makes is warned of.
_WARN_FROM: Final = 0.1
#: Shares of one kind in a cell, the largest ones; files have all.
_SHARES: Final = 2
#: Combinations that a sentence names.
_NAMED: Final = 4


@dataclass(frozen=True)
class _Column:
    """One column of figures.

    Attributes
    ----------
    head : str
        Its head.
    cell : callable
        What a row has in it.
    needed : bool
        Whether it stands in a table of any width; the others give way, the last one first.
    folds : bool
        Whether a cell breaks into lines where the table is too wide.
    """

    head: str
    cell: Callable[[Mapping[str, Any]], str]
    needed: bool = False
    folds: bool = False


def show_comparison(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print one table, a line a row, of as many columns as fit; a line names those that do not.

    A pipe takes any width, unless ``COLUMNS`` says what it takes.
    """
    columns = _columns(rows)
    bound = console.width if console.is_terminal or columns_given() else MOST_WIDTH
    left_out: list[_Column] = []
    while (width := _width(console, _table(rows, columns))) > bound:
        if not (optional := [one for one in columns if not one.needed]):
            break
        columns.remove(optional[-1])
        left_out.insert(0, optional[-1])
    console.width = min(max(width, console.width), bound)
    console.print(_table(rows, columns))
    if left_out:
        names = ", ".join(one.head.partition("\n")[0] for one in left_out)
        console.print(f"too wide for {bound} columns: {names}; --csv FILE has all", soft_wrap=False)
    for said in verdicts(rows):
        console.print(said, markup=False, highlight=False)


def _width(console: Console, table: Table) -> int:
    return Measurement.get(console, console.options.update(max_width=MOST_WIDTH), table).maximum


def verdicts(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return for each work in a sentence which combination is the quickest, as far as it is known.

    Of a comparison without a second combination nothing is said.
    """
    said = []
    names = varying(rows)
    for number, row in enumerate(rows):
        if any(same_work(one, row) for one in rows[:number]):
            continue
        others = [one for one in rows[number:] if same_work(one, row)]
        if words := _verdict(others, [name for name in names if not _is_common(others, name)]):
            where = [name for name in names if _is_common(others, name)]
            of = ", ".join(filter(None, (short(row["trace"]), label(row, where))))
            said.append(f"{of}: {words}")
    return said


def _is_common(rows: Sequence[dict[str, Any]], name: str) -> bool:
    return len({value(row, name) for row in rows}) == 1


def _verdict(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> str:
    """Return the verdict on the rows of one work, which differ in some names.

    It is true for every pair of combinations that it names.
    """
    by_verdict = {
        verdict: [row for row in rows if row["verdict"] == verdict] for verdict in Verdict
    }
    if quickest := by_verdict[Verdict.QUICKEST]:
        return f"the quickest is {label(quickest[0], names)}"
    if tied := by_verdict[Verdict.TIED]:
        lowest = min(tied, key=lambda row: row["cycles_mean"])
        others = [label(row, names) for row in tied if row is not lowest]
        first = label(lowest, names)
        longer = _longer(len(by_verdict[Verdict.SLOWER]), first)
        if any(told_apart(*pair) for pair in itertools.combinations(tied, 2)):
            return f"the fewest cycles has {first}; not told apart from it: {_few(others)}{longer}"
        return f"cannot be told apart: {_few([label(row, names) for row in tied])}{longer}"
    if by_verdict[Verdict.UNKNOWN]:
        return "one seed does not say which is quicker; --seeds 5 does"
    return ""


def time_scale_warning(rows: Sequence[dict[str, Any]]) -> str:
    """Return a line on the run that a time scale below 1 limits most; empty if none limits."""
    worst = max(rows, key=lambda row: row["rate_by_time_scale"])
    share = worst["rate_by_time_scale"]
    if share < _WARN_FROM:
        return ""
    return (
        f"time scale {worst['time_scale']}: for up to {share:.1%} of a run the dispatch rate limits"
        " only because blocks are shortened: throughput does not grow in proportion, and more SMs"
        " help less than at the recorded lengths (--time-scale 1)"
    )


def killed_nobody(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return, a line for each trace, why ``kill_every`` killed no launch in some combination."""
    said = (f"{row['trace']}: {row['killed_nobody']}" for row in rows if row["killed_nobody"])
    return [*dict.fromkeys(said)]


def _few(labels: Sequence[str]) -> str:
    """Return the first labels, and how many more there are."""
    more = len(labels) - _NAMED
    said = "; ".join(labels[:_NAMED])
    return f"{said}; {more} more" if more > 0 else said


def _longer(number: int, than: str) -> str:
    if number == 0:
        return ""
    return f"; {number} {'takes' if number == 1 else 'take'} longer than {than}"


def _columns(rows: Sequence[dict[str, Any]]) -> list[_Column]:
    """Return the columns of figures, the most important one first."""
    seeds = max(len(row["seeds"]) for row in rows)
    columns = [
        _Column(f"cycles\n(mean of {seeds})" if seeds > 1 else "cycles", _cycles, needed=True),
        _Column("to the first, %\n(95 % interval)", change, needed=True),
        _Column(
            "verdict, to the\nfewest cycles",
            lambda row: str(row["verdict"]),
            needed=True,
            folds=True,
        ),
        _Column("sd", _sd),
        _Column("blocks\na cycle", lambda row: f"{row['blocks_per_cycle']:.3f}"),
        _Column("to the\nrecorded, %", _to_the_recorded),
    ]
    if any(name in varying(rows) for name in _INDEX):
        columns.append(_Column("history\nhits, %", _hit_rate))
    return [
        *columns,
        _Column(_under("latency"), lambda row: _percentiles(row["latency"], "{:,}")),
        _Column(_under("SM time lost, %"), lambda row: _percentiles(row["sm_time_lost"], "{:.1%}")),
        _Column("occupancy, %\n(the highest)", lambda row: _shares(row["occupancy"])),
        _Column("stalled, %\n(main causes)", _stalled),
    ]


def _under(head: str) -> str:
    return f"{head}\n{' / '.join(PERCENTILES)}"


def _table(rows: Sequence[dict[str, Any]], columns: Sequence[_Column]) -> Table:
    names = varying(rows)
    shared = ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in common(rows).items())
    several = len({row["trace"] for row in rows}) > 1
    of = "" if several else f"{short(rows[0]['trace'])}: "
    table = Table(title=escape(f"{of}runs of {shared}"))
    for head in (*(["trace"] if several else []), *names):
        table.add_column(head.replace("_", " "), overflow="fold", min_width=6)
    for column in columns:
        table.add_column(
            column.head,
            justify="left" if column.folds else "right",
            no_wrap=not column.folds,
            overflow="fold",
        )
    for trace, of_trace in itertools.groupby(rows, key=lambda row: row["trace"]):
        for row in of_trace:
            words = [short(trace)] if several else []
            words += [value(row, name) for name in names]
            table.add_row(*(escape(word) for word in (*words, *(c.cell(row) for c in columns))))
        table.add_section()
    return table


def _cycles(row: Mapping[str, Any]) -> str:
    return f"{row['cycles_mean']:,.0f}"


def _to_the_recorded(row: Mapping[str, Any]) -> str:
    return "-" if row["error_percent"] is None else f"{row['error_percent']:+.1f}"


def _sd(row: Mapping[str, Any]) -> str:
    return "-" if row["cycles_sd"] is None else f"{row['cycles_sd']:,.0f}"


def change(row: Mapping[str, Any]) -> str:
    """Return the change to the first combination in percent, with the half of its interval."""
    half = row["change_plus_minus"]
    return f"{row['change_percent']:+.2f}" + ("" if half is None else f" +/-{half:.2f}")


def _stalled(row: Mapping[str, Any]) -> str:
    return _shares({name: cycles / row["cycles_mean"] for name, cycles in row["stalls"].items()})


def _hit_rate(row: Mapping[str, Any]) -> str:
    """Return history hits as a percentage of the launches that were not refused."""
    accepted = row["launches"] - row["refused"]
    return f"{100 * row['history_hits'] / accepted:.1f}" if accepted else "-"


def _percentiles(values: Mapping[str, float | None], form: str) -> str:
    words = (
        "-" if each is None else form.format(each).removesuffix("%") for each in values.values()
    )
    return " / ".join(words)


def _shares(shares: Mapping[str, float]) -> str:
    """Return the largest shares as percentages; what rounds to nothing is left out."""
    largest = sorted(shares.items(), key=lambda item: -item[1])[:_SHARES]
    words = (f"{name} {100 * share:.0f}" for name, share in largest if share >= 0.005)
    return ", ".join(words) or "-"
