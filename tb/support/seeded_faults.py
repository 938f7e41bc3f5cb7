"""Small faults in the RTL's source, by block and name, which a comparison with the model finds."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from tb.support.planted import plant
from warploom.dispatch._fit_table import FitTable
from warploom.dispatch._resident_places import ResidentPlaces
from warploom.dispatch.placement import round_robin
from warploom.dispatch.sm.port import SmPort
from warploom.index import IndexMemory, IndexPacker, IndexUnpacker
from warploom.index._iterator_setup import Setup
from warploom_dev.formal.properties import (
    config_filter,
    grid_walker,
    incremental_scheduler,
    index_iterator,
    index_memory,
    index_packer,
    launch_check,
)
from warploom_dev.planted import Change
from warploom_sim.replay.bench import replay_bench_build, replay_bench_verilog

# Those that a proof must see as well stand beside its properties.
CONFIG_FILTER = config_filter.PLANTED
GRID_WALKER = grid_walker.PLANTED
INCREMENTAL_SCHEDULER = incremental_scheduler.PLANTED
LAUNCH_CHECK = launch_check.PLANTED
#: ``flat``: the end of a plane does not carry into z.
INDEX_ITERATOR = index_iterator.PLANTED | {
    "flat": Change(Setup, "_fixes", 'loose_y.eq(_fix(last["y"]))', "loose_y.eq(0)"),
}
#: ``wrong_width``: a word loses the highest bit of y.
INDEX_PACKER = index_packer.PLANTED | {
    "wrong_width": Change(
        *(IndexPacker, "elaborate", "word.eq(placed)"),
        "word.eq(placed & ~((1 << (lanes.width_x + lanes.width_y)) >> 1))",
    ),
}
#: ``no_mask``: y keeps the bits of z above it.
INDEX_UNPACKER = {
    "no_mask": Change(IndexUnpacker, "elaborate", "width > bit", '(width > bit) | (axis == "y")'),
}
#: ``early_read``: no read waits.
INDEX_MEMORY = index_memory.PLANTED | {
    "early_read": Change(IndexMemory, "_pending", "return unwritten", "return Value.cast(0)"),
}
#: ``overcommit``: a warp more than there is. ``wrong_slot``: slot 1's offers name slot 0.
#: ``pointer``: `round_robin` stays where it is when its search wrapped. ``late_return``: what a
#: report gives back is free one cycle later. ``stream_order``: launches of one stream overlap,
#: others wait. ``stale_address``: the offers of the second place keep the index address of the
#: first one's.
BLOCK_DISPATCHER = {
    "overcommit": Change(
        *(FitTable, "_take", "bits = capacity.bit_length() + 1"),
        'capacity += resource == "warps"; bits = capacity.bit_length() + 1',
    ),
    "wrong_slot": Change(
        *(SmPort, "_offer", "slot.eq(slots.front.slot)"),
        "slot.eq(Mux(slots.front.slot == 1, 0, slots.front.slot))",
    ),
    "pointer": Change(round_robin, "rotating", "m.If(advance)", "m.If(advance & some_ahead)"),
    "late_return": Change(
        *(SmPort, "elaborate", "    m.d.comb += self.returned.eq(returned & both(~self.lost))"),
        """    m.d.comb += self.returned.eq(returned & both(~self.lost))
    late = Signal(2)
    m.d.sync += late.eq(returned)
    returned = late""",
    ),
    "stream_order": Change(
        *(ResidentPlaces, "_choose", "words[0].stream == words[1].stream"),
        "words[0].stream != words[1].stream",
    ),
    "stale_address": Change(
        *(ResidentPlaces, "_queue", "offered.eq(following.offered)"),
        "[offered.eq(following.offered), offered.index_address.eq(Mux(self.walk.place,"
        " offered.index_address, following.offered.index_address))]",
    ),
    **{f"grid_walker.{name}": change for name, change in GRID_WALKER.items()},
}


def plant_in_replays(
    monkeypatch: pytest.MonkeyPatch, changes: Iterable[Change], folder: Path
) -> None:
    """Let a test's replay have RTL with these changes, built anew in a folder of its own."""

    def built(kind: str, parts: Sequence[object], make: Callable[[Path], None]) -> Path:
        del parts
        made = folder / kind
        made.mkdir()
        make(made)
        return made

    plant(monkeypatch, changes)
    for name in ("cached", "cached_by_sources"):
        monkeypatch.setattr(replay_bench_build, name, built)
    # In this process: a child would read the source as it is.
    monkeypatch.setattr(replay_bench_build, "_generate", replay_bench_verilog.write)
