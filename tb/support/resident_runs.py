"""One script of launches, holds and stops for BlockDispatcher's two models, and what they do."""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from warploom_golden.dispatch.block_dispatcher import BlockDispatcher
from warploom_golden.oracles.index_reference import warps
from warploom_golden.replay.block_length import block_lengths, grid_places
from warploom_golden.replay.machine import block_needs
from warploom_golden.replay.residents.dispatcher import ResidentMachine
from warploom_golden.replay.sm_behaviour import SmBehaviour
from warploom_spec import RESOURCES, LaunchDescriptor, layouts, resident_packets
from warploom_spec.errors import BlockStatus
from warploom_spec.queue import Mode

#: A stream's next launch starts so many cycles after the transfer of the one before, at least.
GAP = 8


@dataclass
class Script:
    """What comes at the ports.

    Attributes
    ----------
    launches : list of (int, LaunchDescriptor)
        Each with the first cycle in which it may start; of a stream, in this order.
    levels : dict of int to (int, int)
        `hold` and `stop` from a cycle on.
    ready : float
        The part of cycles in which `ended` is ready.
    seed, report_time : int
        Of the lengths of blocks and of `ready`; from a kill to a report.
    silent : dict of int to int
        SM to the first cycle in which it reports nothing any more.
    """

    launches: list
    levels: dict = field(default_factory=dict)
    ready: float = 1.0
    seed: int = 1
    report_time: int = 0
    silent: dict = field(default_factory=dict)
    cycles: int = 2000

    def is_ready(self, cycle):
        return (cycle * 2654435761 + self.seed * 977) % 1000 < 1000 * self.ready


class Starts:
    """Which launch starts in a cycle."""

    def __init__(self, script, boot):
        self._left = defaultdict(list)
        for number, (cycle, launch) in enumerate(script.launches):
            self._left[launch.stream].append((max(cycle, boot), number, launch))
        self._free = dict.fromkeys(self._left, 0)

    def at(self, cycle):
        due = [
            (number, launch)
            for stream, rows in self._left.items()
            for since, number, launch in rows[:1]
            if since <= cycle and self._free[stream] is not None and self._free[stream] <= cycle
        ]
        if not due:
            return None
        number, launch = min(due, key=lambda pair: pair[0])
        self._left[launch.stream].pop(0)
        self._free[launch.stream] = None
        return number, launch

    def next(self, cycle):
        """Return the next cycle in which one may start."""
        return min(
            (
                max(rows[0][0], self._free[stream], cycle)
                for stream, rows in self._left.items()
                if rows and self._free[stream] is not None
            ),
            default=1 << 52,
        )

    def end(self, cycle, stream):
        self._free[stream] = cycle + GAP


class PlainSm:
    """The stand-in of ``docs/replay/replay.md``, without contention."""

    def __init__(self, report_time, silent_from):
        self._blocks = {}
        self._report_time, self._silent_from = report_time, silent_from

    def take(self, cycle, slot, stream, length):
        self._blocks[slot] = [cycle + length, stream, BlockStatus.OK]

    def kill(self, cycle, streams):
        for block in self._blocks.values():
            if block[0] > cycle and streams >> block[1] & 1 and block[2] is BlockStatus.OK:
                block[0], block[2] = cycle + self._report_time, BlockStatus.KILLED

    def report(self, cycle):
        due = [(block[0], slot) for slot, block in self._blocks.items() if block[0] <= cycle]
        if not due or cycle >= self._silent_from:
            return None
        slot = min(due)[1]
        return slot, self._blocks[slot][2]

    def reported(self, slot):
        del self._blocks[slot]


def lengths_of(script, launch, machine_speed=1):
    """Return the lengths of a launch's blocks."""
    places = grid_places(launch.grid)
    return block_lengths(script.seed, launch.code, launch.arguments, *places).tolist()


def by_cycles(config, script):
    """Run the cycle model; return offers, reports, ends and stall counters."""
    model = BlockDispatcher(config)
    packet, block_packet = resident_packets.resident_start(config), None
    block_packet = resident_packets.resident_block(config)
    end_packet, report_packet = resident_packets.resident_end(config), layouts.block_report(config)
    boot = max(config.sms * config.block_slots, 1 << config.stream_bits) + 9
    starts = Starts(script, boot)
    sms = [PlainSm(script.report_time, script.silent.get(n, 1 << 52)) for n in range(config.sms)]
    running = {}
    levels = (0, 0)
    offers, reports, ends = [], [], []
    for cycle in range(script.cycles):
        levels = script.levels.get(cycle, levels)
        out = model.outputs({})
        started = starts.at(cycle)
        payload = 0
        if started is not None:
            number, launch = started
            running[launch.stream] = number, launch, lengths_of(script, launch)
            payload = packet.pack(start_fields(config, launch))
        ready = script.is_ready(cycle)
        inputs = {
            "start__valid": int(started is not None),
            "start__payload": payload,
            "hold": levels[0],
            "stop": levels[1],
            "enable": (1 << config.sms) - 1,
            "clock": cycle,
            "restart": 0,
            "ended__ready": int(ready),
            "order_swap__valid": 0,
            "order_swap__payload": 0,
        }
        if out["offer"]:
            sm = out["offer"].bit_length() - 1
            words = block_packet.unpack(out["block"])
            number, launch, lengths = running[words["stream"]]
            offers.append((cycle, sm, words["slot"], number, words["block_number"]))
            length = lengths[words["block_number"]]
            sms[sm].take(cycle, words["slot"], words["stream"], length)
        for n, each in enumerate(sms):
            each.kill(cycle, out["kill"])
            due = each.report(cycle)
            fields = {"slot": 0, "status": 0}
            if due is not None:
                fields = {"slot": due[0], "status": int(due[1])}
                if out[f"report__{n}__ready"]:
                    each.reported(due[0])
                    reports.append((cycle, n, due[0], int(due[1])))
            inputs[f"report__{n}__valid"] = int(due is not None)
            inputs[f"report__{n}__payload"] = report_packet.pack(fields)
        if out["ended__valid"] and ready:
            fields = end_packet.unpack(out["ended__payload"])
            ends.append((cycle, fields["stream"], fields["fate"], fields["code"]))
            starts.end(cycle, fields["stream"])
        model.tick(inputs)
    out = model.outputs({})
    stalls = {name: out[f"stall_{name}"] for name in (*RESOURCES, "offer")}
    return offers, reports, ends, stalls, model


def start_fields(config, launch):
    """Return the fields of ``resident_start``."""
    needs = dict(zip(RESOURCES, block_needs(launch, config), strict=True))
    gx, gy, gz = launch.grid
    fields = {name: needs[name] for name in RESOURCES if name != "slots"}
    return fields | {
        "stream": launch.stream,
        "priority": launch.priority,
        "wait_mode": int(launch.mode == Mode.WAIT),
        "gx": gx,
        "gy": gy,
        "gz": gz,
        "index_address": 0,
        "entry": 0,
    }


def by_events(config, script, dense=False):
    """Run the event model; return offers, reports, ends and stall counters."""
    sm = SmBehaviour(report_time=script.report_time, silent_from=script.silent)
    machine = ResidentMachine(config, script.seed, sm, log=1 << 14)
    boot = max(config.sms * config.block_slots, 1 << config.stream_bits) + 9
    starts = Starts(script, boot)
    ends, cycle, changes = [], 0, sorted(script.levels)
    # A stalled cycle shows in the counters two cycles later.
    changes.append(script.cycles - 1)
    stalls = {}
    while cycle < script.cycles:
        if cycle == script.cycles - 1:
            stalls = machine.stalls
        if cycle in script.levels:
            machine.set_levels(cycle, *script.levels[cycle])
        started = starts.at(cycle)
        if started is not None:
            number, launch = started
            machine.start(cycle, launch.stream, launch, number)
        ended = machine.ended
        wake = min([script.cycles, starts.next(cycle + 1)] + [c for c in changes if c > cycle][:1])
        if ended is not None:
            if script.is_ready(cycle):
                machine.take_end()
                ends.append((cycle, ended.row, int(ended.fate), int(ended.code)))
                starts.end(cycle, ended.row)
                wake = min(wake, starts.next(cycle + 1))
            wake = min(wake, cycle + 1) if not script.is_ready(cycle) else wake
        if dense:
            wake = cycle + 1
        cycle = machine.advance(cycle, max(wake, cycle + 1))
    offers = [tuple(row) for row in machine.offers.T.tolist() if row[0] < script.cycles]
    reports = [tuple(row) for row in machine.reports.T.tolist()]
    return offers, reports, ends, stalls, machine


def random_launch(rng, config, number, streams):
    """Return a launch with a few blocks."""
    stream = int(rng.integers(streams))
    block = int(rng.choice([1, 16, 32, 64])) % (config.warp_slots * config.warp_size + 1)
    grid = tuple(int(rng.choice([1, 1, 2, 3, 5])) for _ in range(3))
    if rng.random() < 0.2:
        grid = (int(rng.integers(1, 60)), 1, 1)
    most = config.register_units // warps((max(block, 1), 1, 1), config.warp_size)
    return LaunchDescriptor(
        grid=grid,
        block=(max(block, 1), 1, 1),
        stream=stream,
        priority=stream % 3 if rng.random() < 0.8 else stream % 2,
        mode=int(rng.integers(5)),
        warp_registers=min(most, int(rng.choice([0, 1, 3, 7]))),
        shared=int(rng.choice([0, 0, config.shared_units // 2])),
        arguments=int(rng.choice([4, 9, 40, 200])),
        code=number,
    )


def random_script(config, seed, launches=14, cycles=1500):
    """Return a script of random launches, holds and stops."""
    rng = np.random.default_rng(seed)
    streams = 1 << config.stream_bits
    made = []
    spread = int(rng.choice([1, 200, 900]))
    for number in range(launches):
        made.append((int(rng.integers(spread)), random_launch(rng, config, number, streams)))
    levels = {}
    if rng.random() < 0.7:
        for _ in range(int(rng.integers(1, 12))):
            hold = int(rng.integers(1 << streams)) if rng.random() < 0.6 else 0
            stop = int(rng.integers(1 << streams)) if rng.random() < 0.3 else 0
            levels[int(rng.integers(1, cycles - 300))] = hold, stop
        levels[cycles - 300] = 0, 0
    silent = {}
    if rng.random() < 0.2:
        silent[int(rng.integers(config.sms))] = int(rng.integers(cycles))
    return Script(
        made,
        levels,
        ready=float(rng.choice([1.0, 1.0, 0.3])),
        seed=seed,
        report_time=int(rng.choice([0, 3])),
        silent=silent,
        cycles=cycles,
    )
