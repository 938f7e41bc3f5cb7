"""IndexMemory: a write and a read a cycle, and reads that wait for what is yet to be written."""

from collections import deque

import pytest

from tb.support.deep_values import OTHER_SIMULATORS, thorough_but
from tb.support.hard_cases import run_until
from tb.support.index_cases import CONFIGS, built, config_of
from tb.support.planted import plant
from tb.support.record import Sender, made, record
from tb.support.resettable import resettable
from tb.support.seeded_faults import INDEX_MEMORY
from warploom.index import IndexMemory
from warploom_golden.index import IndexMemory as Model
from warploom_sim.cosim.lockstep import Case, LockstepError, Pace, run
from warploom_spec import layouts, timing

TINY = CONFIGS["tiny"]


def make(config, **params):
    return built(IndexMemory, Model, config, **params)


#: Cycles from a region's acceptance to its first write, at least (the page's 'Relies on').
FIRST_WRITE = 3


class Traffic:
    """Regions announced and written in order, and reads in and around them.

    At most ``done_depth`` regions are pending and they do not overlap, as ConfigFilter sees to.
    Some end early, and now and then a warp goes to a place outside its region.
    """

    def __init__(self, context):
        self._config, self._rng = config_of(context), context.rng
        self._depth = timing(self._config).done_depth
        #: Of each region its first cycle with a write, its start, its next row and its end.
        self._pending = deque()
        self._cycle = 0
        self._announce, self._write = Pace(context.rng), Pace(context.rng)
        self._read = context.driver("read", self._requests())
        self._data = context.sink("data")
        self._region = layouts.index_region(self._config)
        self._warp = layouts.packed_warp(self._config)

    def next(self, outputs):
        self._cycle += 1
        if outputs is None:
            self._pending.clear()
        writing = self._write() and bool(self._pending) and self._pending[0][0] <= self._cycle
        written = self._next_write() if writing else self._random(self._warp)
        return (
            {
                "write__valid": int(writing),
                "write__payload": written,
                "accepted": self._next_region(writing) if self._announce() else self._no_region(),
            }
            | self._read.next(outputs)
            | self._data.next(outputs)
        )

    def _random(self, packet):
        return self._rng.getrandbits(packet.bits)

    def _no_region(self):
        fields = self._region.unpack(self._random(self._region))
        return self._region.pack(fields | {"valid": 0})

    def _next_region(self, writing):
        """Announce a region; one whose last warp is written in this cycle still has its place."""
        if len(self._pending) + writing >= self._depth:
            return self._no_region()
        size = self._config.index_memory_warps
        count = self._rng.randint(0, min(12, self._config.max_warps))
        address = self._rng.randint(0, size - max(count, 1))
        others = ((start, end) for _, start, _, end in self._pending)
        if any(address < end and start < address + count for start, end in others):
            return self._no_region()
        if count:
            first = self._cycle + FIRST_WRITE
            self._pending.append((first, address, address, address + count))
        return self._region.pack({"valid": 1, "address": address, "warps": count})

    def _next_write(self):
        first, start, place, end = self._pending.popleft()
        last = place + 1 == end or self._rng.random() < 0.05
        if not last:
            self._pending.appendleft((first, start, place + 1, end))
        stray = self._rng.random() < 0.05
        fields = self._warp.unpack(self._random(self._warp))
        return self._warp.pack(
            fields
            | {
                "address": self._rng.randrange(self._config.index_memory_warps) if stray else place,
                "first": int(place == start),
                "last": int(last),
            }
        )

    def _requests(self):
        packet, rng = layouts.index_read(self._config), self._rng
        size = 1 << self._config.index_address_bits
        while True:
            _, start, place, end = self._rng.choice(self._pending or [(0, 0, 0, size)])
            warp = rng.choice((rng.randint(0, 4), rng.randrange(self._config.max_warps)))
            near = rng.choice((start, place, end, rng.randrange(size))) - warp
            index_warps = rng.choice((warp + 1, self._config.max_warps, warp, 0))
            yield packet.pack(
                {
                    "address": near % size,
                    "warp": warp,
                    "index_warps": min(index_warps, self._config.max_warps),
                }
            )


def waits(inputs, outputs):
    """A read waits for a write, not for its data's place, and another one behind it."""
    free = not outputs["data__valid"] or inputs["data__ready"]
    return bool(inputs["read__valid"] and free and not outputs["read__ready"])


def case(config, seed, **params):
    return Case(
        make=make,
        params={"config": config, **params},
        seed=seed,
        cycles=3000,
        stimulus=Traffic,
        events={"a read waits for its write": waits},
    )


@pytest.mark.parametrize(
    "config", thorough_but(["tiny"], ["tiny", "default", "warp_16", "warp_64", "many_threads"])
)
def test_equals_its_model(config, seed):
    names = ("a read waits for its write", "transfers of data", "transfers of write")
    run_until(names, lambda n: [case(config, seed + n)], "amaranth")


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case("default", seed + k) for k in range(2)], simulator)


@pytest.mark.parametrize("fault", INDEX_MEMORY)
def test_lockstep_finds_a_fault(fault, seed, monkeypatch):
    plant(monkeypatch, [INDEX_MEMORY[fault]])
    with pytest.raises(LockstepError):
        run([case("tiny", seed + k) for k in range(24)], "amaranth")


# Cycles, of RTL and model alike


@pytest.fixture(params=[IndexMemory, Model], ids=["rtl", "model"])
def memory(request):
    return made(request.param, TINY)


def region(address, warps):
    return layouts.index_region(TINY).pack({"valid": 1, "address": address, "warps": warps})


def warp(address, value, last=0):
    packet = layouts.packed_warp(TINY)
    zeros = dict.fromkeys((f.name for f in packet.present), 0)
    return packet.pack(zeros | {"address": address, "words": value, "mask": 0xFF, "last": last})


def request(address, number, index_warps):
    return layouts.index_read(TINY).pack(
        {"address": address, "warp": number, "index_warps": index_warps}
    )


def data(value, mask=0xFF):
    return layouts.index_data(TINY).pack({"words": value, "mask": mask})


def play(
    memory, accepted=(), writes=(), reads=(), ready=lambda cycle: True, reads_from=0, cycles=20
):
    """Announce, write and read; ``accepted`` and ``writes`` are by cycle."""
    accepted, writes = dict(accepted), dict(writes)

    def levels(cycle):
        return {
            "accepted": accepted.get(cycle, 0),
            "write__valid": int(cycle in writes),
            "write__payload": writes.get(cycle, 0),
            "data__ready": int(ready(cycle)),
            "read__hold": int(cycle < reads_from),
        }

    return record(memory, Sender({"read": reads}, levels), cycles)


@pytest.mark.rule("index_memory", 1, 6, 7)
def test_a_write_is_read_back_three_cycles_after_the_request(memory):
    """In the row register in 5, read there, out of the block memory in 6, at `data` in 7."""
    seen = play(memory, writes={0: warp(5, 0xABCD)}, reads=[request(3, 2, 4)], reads_from=4)
    assert timing(TINY).index_read == 3
    assert seen.transfers("read") == [(4, request(3, 2, 4))]
    assert seen.transfers("data") == [(7, data(0xABCD))]


@pytest.mark.rule("index_memory", 8)
@pytest.mark.parametrize("kind", [IndexMemory, Model], ids=["rtl", "model"])
def test_a_reset_keeps_what_was_written_and_forgets_what_is_to_be(kind):
    """Written in 0, announced in 1. A request waits from 4 on; the reset in 6 forgets both.

    The request behind it is taken in 7, and finds no region.
    """
    levels = {
        "accepted": lambda cycle: region(5, 1) if cycle == 1 else 0,
        "write__valid": lambda cycle: int(cycle == 0),
        "write__payload": lambda cycle: warp(5, 0xABCD),
        "data__ready": lambda cycle: 1,
        "read__hold": lambda cycle: int(cycle < 3),
        "reset_now": lambda cycle: int(cycle == 6),
    }
    reader = Sender(
        {"read": [request(5, 0, 1)] * 2}, lambda cycle: {n: f(cycle) for n, f in levels.items()}
    )
    seen = record(resettable(kind(TINY)), reader, 13)
    assert [cycle for cycle, _ in seen.transfers("read")] == [3, 7]
    assert seen.transfers("data") == [(10, data(0xABCD))]


@pytest.mark.rule("index_memory", 2, 6, 7)
def test_a_read_waits_until_its_warp_is_written(memory):
    """Written in 5: the queue says so from 6 on, and the read leaves the row register in 7.

    The read behind it is taken in 7, and its warp written in 9.
    """
    seen = play(
        memory,
        accepted={0: region(8, 2)},
        writes={5: warp(8, 2), 9: warp(9, 3, last=1)},
        reads=[request(8, 0, 2), request(8, 1, 2)],
        reads_from=2,
    )
    assert timing(TINY).index_wake == 4
    assert [cycle for cycle, _ in seen.transfers("read")] == [2, 7]
    assert seen.transfers("data") == [(5 + 4, data(2)), (9 + 4, data(3))]


def test_a_region_of_more_than_16_warps_is_waited_for(memory):
    """Its warps 0 to 19 are written in 3 to 22: a read of the last one waits until then."""
    seen = play(
        memory,
        accepted={0: region(8, 20)},
        writes={3 + n: warp(8 + n, n, last=int(n == 19)) for n in range(20)},
        reads=[request(8, 19, 20)],
        reads_from=3,
        cycles=30,
    )
    assert seen.transfers("data") == [(22 + timing(TINY).index_wake, data(19))]


@pytest.mark.rule("index_memory", 3, 6)
def test_a_region_counts_from_the_second_cycle_after_its_acceptance(memory):
    """Accepted in 5: reads that are judged in 5 and 6 get the old data, the one judged in 7 waits.

    Its warp is written in 9.
    """
    seen = play(
        memory,
        accepted={5: region(8, 1)},
        writes={0: warp(8, 7), 9: warp(8, 6, last=1)},
        reads=[request(8, 0, 1)] * 3,
        reads_from=5,
    )
    assert [cycle for cycle, _ in seen.transfers("read")] == [5, 6, 7]
    assert seen.transfers("data") == [(8, data(7)), (9, data(7)), (13, data(6))]


@pytest.mark.rule("index_memory", 4)
def test_a_write_anywhere_takes_one_warp_off_the_oldest_region(memory):
    """The write of row 40 ends the first region, so that of row 16 ends the second one."""
    seen = play(
        memory,
        accepted={0: region(8, 2), 1: region(16, 1)},
        writes={3: warp(8, 1), 4: warp(40, 2, last=1), 7: warp(16, 3, last=1)},
        reads=[request(8, 0, 2), request(16, 0, 1)],
        reads_from=2,
    )
    assert [cycle for cycle, _ in seen.transfers("read")] == [2, 5]
    assert seen.transfers("data") == [(7, data(1)), (11, data(3))]


@pytest.mark.rule("index_memory", 4)
def test_a_write_without_a_region_takes_nothing(memory):
    """The region is in the queue from 2 on: the write in 1 takes none of its warps."""
    seen = play(
        memory,
        accepted={0: region(8, 2)},
        writes={1: warp(40, 1, last=1), 5: warp(8, 2), 6: warp(9, 3, last=1)},
        reads=[request(8, 0, 2), request(8, 1, 2)],
        reads_from=2,
    )
    assert seen.transfers("data") == [(9, data(2)), (10, data(3))]


@pytest.mark.rule("index_memory", 5, 6, 7)
def test_reads_follow_the_writes_one_cycle_each(memory):
    writes = {cycle: warp(5 + cycle, cycle, last=int(cycle == 6)) for cycle in range(3, 7)}
    seen = play(
        memory,
        accepted={0: region(8, 4)},
        writes=writes,
        reads=[request(8, number, 4) for number in range(4)],
        reads_from=2,
    )
    assert [cycle for cycle, _ in seen.transfers("read")] == [2, 5, 6, 7]
    assert seen.transfers("data") == [(cycle + 4, data(cycle)) for cycle in range(3, 7)]


@pytest.mark.rule("index_memory", 4)
def test_last_ends_a_region_early(memory):
    seen = play(
        memory,
        accepted={0: region(8, 4)},
        writes={3: warp(8, 1, last=1)},
        reads=[request(8, 3, 4)],
        reads_from=2,
        cycles=8,
    )
    assert seen.port("read__ready") == [1, 1, 1, 0, 0, 1, 1, 1]
    assert seen.cycles("data__valid") == [7]


@pytest.mark.rule("index_memory", 6, 7)
def test_a_warp_beyond_index_warps_reads_mask_zero_at_once(memory):
    seen = play(memory, accepted={0: region(8, 4)}, reads=[request(8, 2, 2)], reads_from=3)
    assert seen.transfers("read")[0][0] == 3
    assert seen.transfers("data") == [(6, data(0, mask=0))]


@pytest.mark.rule("index_memory", 3)
def test_an_empty_region_is_none(memory):
    seen = play(
        memory,
        accepted={0: region(8, 0), 1: region(8, 2)},
        writes={4: warp(8, 1), 7: warp(9, 2, last=1)},
        reads=[request(8, 0, 2), request(8, 1, 2)],
        reads_from=3,
    )
    assert [cycle for cycle, _ in seen.transfers("read")] == [3, 6]
    assert seen.transfers("data") == [(8, data(1)), (11, data(2))]


@pytest.mark.rule("index_memory", 5, 6)
def test_warps_beside_a_region_do_not_wait(memory):
    """Rows 7 and 12 are beside the region; row 11 waits for ever, and all that comes behind it."""
    seen = play(
        memory,
        accepted={0: region(8, 4)},
        reads_from=3,
        reads=[request(4, 3, 4), request(8, 4, 5), request(8, 3, 4), request(4, 3, 4)],
    )
    assert [cycle for cycle, _ in seen.transfers("read")] == [3, 4, 5]
    assert seen.cycles("data__valid") == [6, 7]


@pytest.mark.rule("index_memory", 5, 7)
def test_data_that_is_not_taken_stands_and_stops_the_requests_behind_it(memory):
    """The first data come in 5: the second request is behind the memory, the third in front."""
    seen = play(
        memory,
        writes={0: warp(1, 1), 1: warp(2, 2)},
        reads=[request(1, 0, 2), request(1, 1, 2)] * 2,
        reads_from=2,
        ready=lambda cycle: cycle >= 12,
    )
    assert [cycle for cycle, _ in seen.transfers("read")] == [2, 3, 4, 12]
    assert seen.transfers("data") == [(12 + k, data(1 + k % 2)) for k in range(4)]


@pytest.mark.rule("index_memory", 6, 7)
def test_a_request_that_stands_before_the_memory_waits_for_a_region_that_comes(memory):
    """The third request is in the row register from 6 on. Its row is accepted in 8.

    Data are taken from 14 on; the row is written in 16.
    """
    seen = play(
        memory,
        accepted={8: region(3, 1)},
        writes={0: warp(1, 1), 1: warp(2, 2), 2: warp(3, 3), 16: warp(3, 9, last=1)},
        reads=[request(1, number, 3) for number in range(3)],
        reads_from=3,
        ready=lambda cycle: cycle >= 14,
        cycles=22,
    )
    assert seen.transfers("data") == [(14, data(1)), (15, data(2)), (20, data(9))]


@pytest.mark.rule("index_memory", 6)
def test_a_place_wraps_at_the_address_width(memory):
    seen = play(memory, writes={0: warp(1, 5)}, reads=[request(63, 2, 4)], reads_from=1)
    assert seen.transfers("data") == [(4, data(5))]
