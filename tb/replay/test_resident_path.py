"""Streams, waits and preemption in the event model: a plain reference, and laws."""

import random
from collections import Counter, defaultdict
from dataclasses import replace
from statistics import mean

import pytest

from tb.support.plain_residents import plain_ends
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.residents.launches import SentLaunch
from warploom_golden.replay.residents.path import NoEventLeft, ResidentPath
from warploom_golden.replay.residents.source import ReplaySource, UnorderedSource
from warploom_golden.replay.waits import Waits
from warploom_spec import LaunchDescriptor, preset
from warploom_spec.queue import FinalFate, Mode, RecordKind
from warploom_spec.queue_packets import QueueOpcode

CONFIG = replace(preset("default"), sms=4, stream_bits=3)
#: A run is this close to a reference without latencies in the mean of `GRAPHS`; lengths are
#: thousands. A single graph may be off by more: a block that comes a few cycles later may land
#: on another SM, and what follows it is placed otherwise.
CLOSE = 0.03
GRAPHS = 12


def graph(rng, count=40, streams=6, length=(2000, 9000)):
    """Return random launches, and pairs that wait for earlier ones of other streams."""
    launches, pairs, seen = [], [], Counter()
    for number in range(count):
        stream, threads = rng.randrange(streams), rng.choice((32, 128, 256))
        launches.append(
            LaunchDescriptor(
                grid=(rng.randint(1, 12), rng.randint(1, 3), 1),
                block=(threads, 1, 1),
                # No two shapes overlap: none is held up.
                index_address={32: 0, 128: 8, 256: 16}[threads],
                warp_registers=rng.choice((1, 4)),
                stream=stream,
                priority=stream % 3,
                idempotent=number % 2,
                mode=rng.randrange(5),
                code=number,
                arguments=rng.randint(*length),
            )
        )
        others = [other for other in seen if other != stream]
        chosen = rng.sample(others, min(len(others), rng.choice((0, 0, 1, 2))))
        pairs.append([(other, rng.randint(1, seen[other])) for other in chosen])
        seen[stream] += 1
    return launches, pairs


def finished(path, source):
    """Run to the end; return its last record's cycle."""
    path.run(source)
    source.check_sent()
    return path.log.records[-1]["cycle"]


def test_a_run_takes_as_long_as_a_plain_one_without_latencies(seed):
    ratios = []
    for n in range(GRAPHS):
        launches, pairs = graph(random.Random(f"{seed}-{n}"))
        # Modes hold low launches back while an urgent one is under way: all fill the gaps here.
        launches = [replace(one, mode=Mode.YIELD) for one in launches]
        path = ResidentPath(CONFIG, seed=5)
        took = finished(path, ReplaySource(launches, path, Waits(pairs, [()] * len(launches))))
        _, plain = plain_ends(launches, pairs, CONFIG, 5)
        ratios.append(took / plain)
    assert abs(mean(ratios) - 1) < CLOSE, ratios


class Commander(ReplaySource):
    """Sends launches, and commands beside them: PREEMPT, RESUME and ABORTs at random."""

    def __init__(self, launches, path, waits, rng, until):
        super().__init__(launches, path, waits)
        self._rng, self._until = rng, until
        self._next, self.held = 600, 0

    @property
    def wake(self):
        return min(super().wake, self._next)

    def step(self, cycle, path):
        super().step(cycle, path)
        if cycle < self._next or not path.takes_command:
            return
        rng = self._rng
        if cycle > self._until:
            if self.held:
                path.command(QueueOpcode.RESUME, self.held)
                self.held = 0
            self._next = NEVER
            return
        self._next = cycle + rng.randint(20, 3000)
        mask = rng.randint(1, 63)
        if rng.random() < 0.5:
            path.command(QueueOpcode.PREEMPT, mask)
            self.held |= mask
        elif self.held:
            path.command(QueueOpcode.RESUME, self.held)
            self.held = 0
        if self.tickets and path.takes_abort and rng.random() < 0.3:
            path.abort(rng.choice(self.tickets) or 1)


@pytest.mark.parametrize("knee", [None, 12])
def test_laws_of_random_graphs_with_commands(knee, seed):
    happened = Counter()
    for n in range(3):
        rng = random.Random(f"{seed}-laws-{n}")
        launches, pairs = graph(rng, 36, length=(100, 4000))
        path = ResidentPath(CONFIG, seed=3, knee=knee, log=1 << 15)
        waits = Waits(pairs, [()] * len(launches))
        source = Commander(launches, path, waits, rng, until=60_000)
        finished(path, source)
        check_laws(path, source, launches, pairs)
        happened["killed"] += len(path.log.killed)
        happened["preempts"] += sum(r["kind"] == RecordKind.PREEMPT for r in path.log.records)
        happened["aborted"] += sum(r["fate"] == FinalFate.ABORTED for r in path.log.records)
    assert happened["killed"], happened
    assert happened["preempts"], happened
    assert happened["aborted"], happened


def check_laws(path, source, launches, pairs):
    """Each ticket has one record, each block ran once in effect, order and waits are kept."""
    records = {r["ticket"]: r for r in path.log.records if r["kind"] == RecordKind.LAUNCH}
    assert len(records) == len(launches)
    numbers = {ticket: number for number, ticket in enumerate(source.tickets)}
    starts = defaultdict(list)
    for start in path.log.starts:
        starts[numbers[start.ticket]].append(start.cycle)
    ends = {numbers[ticket]: record["cycle"] for ticket, record in records.items()}
    offers = defaultdict(list)
    for cycle, _, _, ticket, block in path.dispatcher.offers.T.tolist():
        offers[numbers[ticket]].append((cycle, block))
    of_stream = defaultdict(list)
    for number, launch in enumerate(launches):
        gx, gy, gz = launch.grid
        last = [block for cycle, block in offers[number] if cycle > max(starts[number], default=0)]
        fate = records[source.tickets[number]]["fate"]
        # Its last run is the one that counts: from block 0 on, each block once.
        assert last == list(range(len(last)))
        assert len(last) == gx * gy * gz or fate == FinalFate.ABORTED
        # An ABORT of one that waits makes its record at once.
        before = [other for other in of_stream[launch.stream] if starts[other]]
        assert not starts[number] or all(ends[b] - 10 < starts[number][0] for b in before)
        for stream, count in pairs[number]:
            awaited = of_stream[stream][count - 1]
            if starts[number] and starts[awaited]:
                assert ends[awaited] - 10 < starts[number][0]
        of_stream[launch.stream].append(number)


def test_sleep_changes_nothing(seed):
    rng = random.Random(seed)
    launches, pairs = graph(rng, 12, length=(20, 300))
    found = []
    for dense in (False, True):
        path = ResidentPath(CONFIG, seed=3, log=1 << 13, dense=dense)
        waits = Waits(pairs, [()] * len(launches))
        source = Commander(launches, path, waits, random.Random(seed), until=2_000)
        # A model that never sleeps never ends by itself.
        path.run(source, until=30_000)
        found.append((path.log, path.dispatcher.offers.tolist(), path.dispatcher.stalls))
    assert len(found[0][0].records) >= 12
    assert found[0] == found[1]


def test_a_stream_for_each_launch_lets_them_run_at_once_and_waits_stay():
    one = LaunchDescriptor(grid=(2, 1, 1), block=(32, 1, 1), arguments=5000)
    launches = [replace(one, code=k, stream=k % 2) for k in range(8)]
    # The last one waits for the first one of the other stream.
    pairs = [()] * 7 + [((0, 1),)]
    config = replace(CONFIG, stream_bits=5, reference_bits=6)
    path = ResidentPath(config, seed=1, log=100)
    source = UnorderedSource(launches, path, Waits(pairs, [()] * 8), None, 32)
    took = finished(path, source)
    assert took < 2.5 * 5000
    starts = [start.cycle for start in path.log.starts]
    first = path.log.records[0]["cycle"]
    assert len([cycle for cycle in starts if cycle < first - 10]) == 7


class Stubborn:
    """Sends two launches of two streams that each fill the GPU, and preempts the first one."""

    def __init__(self, mode):
        one = LaunchDescriptor(
            grid=(400, 1, 1), block=(256, 1, 1), arguments=3000, mode=mode, idempotent=1
        )
        self._left = [one, replace(one, stream=1, priority=1, grid=(4, 1, 1), code=1)]
        self._at = [1, 3000]
        self.wake = 1

    def step(self, cycle, path):
        if self._left and cycle >= self._at[0] and path.may_send and path.has_room(0):
            path.send(SentLaunch(self._left.pop(0)))
            self._at.pop(0)
        self.wake = max(self._at[0], cycle + 1) if self._left else NEVER
        if path.has_record:
            path.pop()


@pytest.mark.parametrize(
    ("mode", "killed", "first"),
    [(Mode.AUTO, 1, 1), (Mode.RESET, 1, 1), (Mode.DRAIN, 0, 1), (Mode.WAIT, 0, 0)],
)
def test_modes_make_way_as_they_say(mode, killed, first):
    path = ResidentPath(CONFIG, seed=1, log=2000)
    path.run(Stubborn(mode))
    assert len(path.log.killed) == killed
    assert path.log.records[0]["stream"] == first
    urgent = [cycle for cycle, *_, ticket, _ in path.dispatcher.offers.T.tolist() if ticket == 2]
    ends = [record["cycle"] for record in path.log.records]
    if mode == Mode.WAIT:
        assert urgent[0] > ends[0] - 3500
    elif killed:
        # Within the kill's latency, and reports one a cycle.
        assert urgent[0] < 3000 + 120
    else:
        assert urgent[0] < 3000 + 3600


def test_a_launch_that_is_held_for_good_is_told():
    path = ResidentPath(CONFIG, seed=1)

    class Holder(Stubborn):
        def step(self, cycle, path):
            super().step(cycle, path)
            if cycle == 2500:
                path.command(QueueOpcode.PREEMPT, 1)
            self.wake = min(self.wake, 2500) if cycle < 2500 else self.wake

    with pytest.raises(NoEventLeft, match="nothing can happen any more"):
        path.run(Holder(Mode.DRAIN))
