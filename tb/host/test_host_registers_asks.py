"""What HostRegisters asks of the launch path, and waits for: streams to mend, swaps of turns."""

import pytest

from tb.host.accesses import answers
from tb.host.test_host_registers import ODD, TINY
from tb.host.test_host_registers_rules import KINDS, play, rd, silent, wr
from tb.support.dispatch_configs import config_of
from warploom_spec import layouts


@pytest.mark.rule("host_registers", 3)
@KINDS
def test_streams_that_are_marked_go_to_the_launch_path_one_by_one_the_lowest_first(kind):
    """Stream 5 stands at `clear_stream` until 9; 7, 3, 3 and 0 are marked meanwhile, 5 again."""
    streams = (5, 7, 3, 3, 0, 5)
    seen = play(
        kind,
        24,
        write={2 + k: wr("CLEAR_STREAM", stream) for k, stream in enumerate(streams)},
        clear_stream__ready=dict.fromkeys((9, 10, 14, 15, 16), 1),
    )
    assert seen.cycles("write_refused") == []
    taken = [(9, 5), (10, 0), (14, 3), (15, 5), (16, 7)]
    assert seen.transfers("clear_stream") == taken
    assert seen.cycles("clear_stream__valid") == list(range(4, 17))
    assert seen.cycles("clearing") == list(range(3, 17))


@pytest.mark.rule("host_registers", 3)
@KINDS
def test_a_restart_forgets_the_streams_that_are_still_to_be_mended(kind):
    """Streams 5 and 7 are marked in 2 and 3; the soft reset begun in 4 has its restart in 11."""
    seen = play(
        kind,
        24,
        write={2: wr("CLEAR_STREAM", 5), 3: wr("CLEAR_STREAM", 7), 4: wr("CONTROL", 1)},
        clear_stream__ready={},
        idle=dict.fromkeys(range(24), 1),
    )
    assert seen.cycles("restart") == [11]
    assert seen.cycles("clear_stream__valid") == list(range(4, 12))
    assert seen.cycles("clearing") == list(range(3, 12))


@pytest.mark.rule("host_registers", 1, 3)
@KINDS
def test_a_swap_stands_until_it_is_taken_and_refuses_the_next_one(kind):
    """Written in 2, taken in 6: the writes of 4 and 6 are refused, that of 7 is performed."""
    config = config_of(ODD)
    words = {2: 0x0201, 4: 0x0403, 6: 0x0605, 7: 0x0807}
    seen = play(
        kind,
        20,
        config=config,
        write={cycle: wr("ORDER_SWAP", word, config=config) for cycle, word in words.items()},
        order_swap__ready={6: 1, 9: 1},
    )
    assert seen.cycles("write_refused") == [4, 6]
    assert seen.cycles("order_swap__valid") == [3, 4, 5, 6, 8, 9]
    packet = layouts.order_swap(config)
    taken = [packet.unpack(word) for _, word in seen.transfers("order_swap")]
    assert taken == [{"first": 1, "second": 2}, {"first": 7, "second": 8}]


@pytest.mark.rule("host_registers", 3)
@KINDS
def test_a_restart_forgets_a_swap_that_stands(kind):
    """The soft reset that is begun in 3 has its restart in 10."""
    config = config_of(ODD)
    writes = {2: wr("ORDER_SWAP", 1, config=config), 3: wr("CONTROL", 1, config=config)}
    idle = dict.fromkeys(range(20), 1)
    seen = play(kind, 20, config=config, write=writes, idle=idle, order_swap__ready={})
    assert seen.cycles("restart") == [10]
    assert seen.cycles("order_swap__valid") == list(range(3, 11))


@pytest.mark.rule("host_registers", 4)
@KINDS
def test_stall_order_reads_0_whatever_the_blocks_say(kind):
    everything = {name: dict.fromkeys(range(18), 1) for name in silent(TINY)}
    assert "stall_order" not in everything
    seen = play(kind, read={4: rd("STALL_ORDER"), 5: rd("STALL_SLOTS")}, **everything)
    assert answers(seen) == {4: 0, 5: 1}
