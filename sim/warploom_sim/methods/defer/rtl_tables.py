"""What a run on the RTL launched and dispatched, stream by stream, and how two of them differ.

A launch's name is its stream and its place in it, a block's is its launch and its place in that:
cycles, SMs and slots may differ from run to run, names and what stands under them may not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.event_tables import Table
from warploom_spec import Config, layouts, queue_packets
from warploom_spec.host_commands import FIRST_RELATIVE_FLAG, launch_words

Names = NDArray[np.uint64]
#: Fields of a launch on its way that a LOOP alone gives it.
_OWN: Final = ("loop",)
#: Fields of an offer that are compared, beside what the name says.
_OF_BLOCK: Final = ("bx", "by", "bz", "block_number", "index_address", "stream")
_PLACE_BITS: Final = 24
_BLOCK_BITS: Final = 32
#: In the place of a launch's number: an offer whose ticket no launch has.
_UNKNOWN: Final = (1 << _PLACE_BITS) - 1
#: What an SM sees of a launch begins so among its columns.
_AT_SM: Final = "sm_"


@dataclass(frozen=True)
class Seen:
    """Launches and blocks by their names.

    Attributes
    ----------
    launches, blocks : Table
        A row each, with columns ``name`` and what is compared.
    changed : int
        Offers with other launch words than the first one of the same launch.
    """

    launches: Table
    blocks: Table
    changed: int = 0


@dataclass(frozen=True)
class Difference:
    """How two sides differ.

    Attributes
    ----------
    compared : int
        Launches and blocks that both sides have.
    mismatches : int
        Those of which a field differs, and those that one side alone has.
    first : str
        The first one in words, or "".
    """

    compared: int
    mismatches: int
    first: str


def recorded(tables: Mapping[str, Table], config: Config) -> Seen:
    """Return what a run recorded.

    Parameters
    ----------
    tables : mapping of str to Table
        Its events ``launched``, ``answers``, ``words`` and ``offers``.
    config : Config
        The core's configuration.
    """
    launched, answers = tables["launched"], tables["answers"]
    names = _names(launched["stream"])
    columns = {name: launched[name] for name in _descriptor_fields(config)}
    _blank_pairs(columns, config)
    tickets = np.full(len(names), 0, np.uint64)
    answered = min(len(names), len(answers["ticket"]))
    tickets[:answered] = answers["ticket"][:answered]
    words, changed = _words_by_launch(tables["words"], tickets)
    for name in _words_fields(config):
        columns[_AT_SM + name] = words[name]
    blocks = _blocks(tables["offers"], names, tickets)
    return Seen({"name": names, **columns}, blocks, changed)


def expected(launches: Sequence[Sequence[int]], config: Config) -> Seen:
    """Return what launches must come to, by their words alone.

    Parameters
    ----------
    launches : sequence of sequence of int
        32 words of each launch, in order.
    config : Config
        The core's configuration.
    """
    layout = launch_words(config)
    rows = [_valid_pairs(layout.unpack(words), config) for words in launches]
    fields = _descriptor_fields(config)
    columns = {name: np.array([row[name] for row in rows], np.uint64) for name in fields}
    names = _names(columns["stream"])
    _blank_pairs(columns, config)
    columns |= {_AT_SM + name: columns[name] for name in _words_fields(config)}
    x, y, z = (columns[axis].astype(np.int64) for axis in ("gx", "gy", "gz"))
    counts = x * y * z
    launch = np.repeat(np.arange(len(names)), counts)
    number = np.arange(len(launch)) - np.repeat(np.cumsum(counts) - counts, counts)
    blocks = {
        "name": _block_names(names[launch], number),
        "bx": number % x[launch],
        "by": number // x[launch] % y[launch],
        "bz": number // (x * y)[launch],
        "block_number": number,
        "index_address": columns["index_address"][launch],
        "stream": columns["stream"][launch],
    }
    return Seen(
        {"name": names, **columns}, {key: one.astype(np.uint64) for key, one in blocks.items()}
    )


def difference(one: Seen, other: Seen) -> Difference:
    """Compare launches and blocks by their names."""
    parts = [
        _compare("launch", one.launches, other.launches),
        _compare("block", one.blocks, other.blocks),
    ]
    first = next((part.first for part in parts if part.first), "")
    return Difference(
        sum(part.compared for part in parts), sum(part.mismatches for part in parts), first
    )


def _compare(what: str, one: Table, other: Table) -> Difference:
    _, here, there = np.intersect1d(one["name"], other["name"], True, return_indices=True)
    unequal = {key: one[key][here] != other[key][there] for key in one if key != "name"}
    differs = np.logical_or.reduce(list(unequal.values()))
    alone = len(one["name"]) + len(other["name"]) - 2 * len(here)
    first = ""
    if differs.any():
        at = int(differs.argmax())
        pairs = (
            f"{key} {one[key][here[at]]} and {other[key][there[at]]}"
            for key, column in unequal.items()
            if column[at]
        )
        first = f"{what} {_place(int(one['name'][here[at]]), what)}: {', '.join(pairs)}"
    elif alone:
        name = int(np.setxor1d(one["name"], other["name"])[0])
        first = f"{what} {_place(name, what)} is there once"
    return Difference(len(here), int(differs.sum()) + alone, first)


def _place(name: int, what: str) -> str:
    block = ""
    if what == "block":
        block = f"{name & (1 << _BLOCK_BITS) - 1} of launch "
        name >>= _BLOCK_BITS
    return f"{block}{name & _UNKNOWN} of stream {name >> _PLACE_BITS}"


def _names(streams: NDArray[np.uint64]) -> Names:
    """Return the names of launches from their streams, in order."""
    places = np.zeros(len(streams), np.uint64)
    for stream in np.unique(streams):
        own = streams == stream
        places[own] = np.arange(own.sum())
    return streams << np.uint64(_PLACE_BITS) | places


def _block_names(launches: Names, numbers: NDArray[np.int64]) -> Names:
    return launches << np.uint64(_BLOCK_BITS) | numbers.astype(np.uint64)


def _descriptor_fields(config: Config) -> list[str]:
    packet = queue_packets.queued_launch(config)
    return [field.name for field in packet.present if field.name not in _OWN]


def _words_fields(config: Config) -> list[str]:
    """Return the fields of a launch that its SMs see as the host gave them."""
    given = queue_packets.queued_launch(config).present
    seen = {field.name for field in layouts.launch_words(config).present}
    return [field.name for field in given if field.name in seen]


def _valid_pairs(fields: Mapping[str, int], config: Config) -> dict[str, int]:
    """Return a LAUNCH's fields, its flags as those of each pair."""
    flags = {}
    for k in range(config.launch_waits):
        flags[f"wait{k}_valid"] = fields["flags"] >> k & 1
        flags[f"wait{k}_relative"] = fields["flags"] >> FIRST_RELATIVE_FLAG + k & 1
    return {**fields, **flags}


def _blank_pairs(columns: Table, config: Config) -> None:
    """Set to 0 what a pair says that does not count."""
    for k in range(config.launch_waits):
        for name in ("stream", "count", "relative"):
            key = f"wait{k}_{name}"
            columns[key] = columns[key] * columns[f"wait{k}_valid"]


def _words_by_launch(words: Table, tickets: NDArray[np.uint64]) -> tuple[Table, int]:
    """Return each launch's words at its first offer, and how many further ones differ."""
    found, first, where = np.unique(words["ticket"], return_index=True, return_inverse=True)
    columns = [column for key, column in words.items() if key not in ("cycle", "ticket")]
    changed = np.zeros(len(where), bool)
    for column in columns:
        unequal = column != column[first][where]
        changed |= unequal.any(axis=1) if unequal.ndim > 1 else unequal
    at = np.searchsorted(found, tickets).clip(max=max(len(found) - 1, 0))
    there = found[at] == tickets if len(found) else np.zeros(len(tickets), bool)
    result = {}
    for key, column in words.items():
        values = np.zeros((len(tickets), *column.shape[1:]), np.uint64)
        if len(found):
            values[there] = column[first][at[there]]
        result[key] = values
    return result, int(changed.sum())


def _blocks(offers: Table, names: Names, tickets: NDArray[np.uint64]) -> Table:
    """Return the offers by name: of one launch in the order in which they came."""
    order = np.argsort(tickets, kind="stable")
    given = tickets[order]
    at = np.searchsorted(given, offers["ticket"]).clip(max=max(len(given) - 1, 0))
    known = given[at] == offers["ticket"] if len(given) else np.zeros(len(at), bool)
    launch = np.full(len(at), _UNKNOWN, np.uint64)
    launch[known] = names[order][at[known]]
    by_launch = np.argsort(launch, kind="stable")
    sorted_launches = launch[by_launch]
    starts = np.flatnonzero(np.r_[True, sorted_launches[1:] != sorted_launches[:-1]][: len(at)])
    lengths = np.diff(np.r_[starts, len(at)])
    numbers = np.arange(len(at)) - np.repeat(starts, lengths)
    columns = {key: offers[key][by_launch] for key in _OF_BLOCK}
    return {"name": _block_names(sorted_launches, numbers), **columns}
