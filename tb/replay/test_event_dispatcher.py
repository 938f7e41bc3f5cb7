"""The event model's dispatcher against the cycle model, with stops, faults and silent SMs.

A replay has kills alone; the kernel queue also drains launches, loses SMs, and its SMs take a while
to report a killed block. All of it without contention and with it.
"""

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tb.support.deep_values import deep_but
from tb.support.replay_reference import SmCore, block_length
from warploom_golden.dispatch import BlockDispatcher
from warploom_golden.oracles.index_reference import last_mask, threads, warps, widths
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_golden.replay.event_dispatcher import EventDispatcher, SmBehaviour
from warploom_spec import BlockStatus, Config, Fate, LaunchDescriptor, Stop, layouts, preset
from warploom_spec.config import RECLAIMS

LAST = 2500
#: By default each policy runs with one of the reclaims, in turn.
MODES = list(itertools.product(PREDICTED_POLICIES, RECLAIMS))
#: The knee is 5, or there is no contention.
RUNS = [(*mode, knee) for mode in MODES for knee in (None, 5)]
DEFAULT = [*((*mode, None) for mode in MODES[::4] + MODES[3::4]), (*MODES[3], 5)]
#: What the first runs meet, one each, with any seed: "KILLED" also the second launch's SKIPPED,
#: "code 18" also an SM that is lost.
FORCED = ("code 18", "KILLED", "DRAINED", "code 17", "FINISHED")
OK, FAULT = BlockStatus.OK, BlockStatus.FAULT

#: The first cycle in which a launch is offered, the launch.
Launches = list[tuple[int, LaunchDescriptor]]
#: Cycle of the stop at the port, place, kill or drain.
Stops = list[tuple[int, int, Stop]]


class Reference:
    """The cycle model with its SMs and a source of launches and stops.

    ``transfers``: (cycle, place, launch number). ``ends``: (cycle after which the place is free,
    place, fate, code, cycles).
    """

    def __init__(
        self,
        config: Config,
        launches: list[tuple[int, LaunchDescriptor]],
        stops: Stops,
        behaviour: SmBehaviour,
        seed: int,
        knee: int | None = None,
    ):
        self.config, self.seed, self.behaviour, self.knee = config, seed, behaviour, knee
        self.model = BlockDispatcher(config)
        self.launches = launches
        self.stops = stops
        self.sms = [SmCore(knee, behaviour.report_time) for _ in range(config.sms)]
        self.running: list[int | None] = [None, None]
        self.transfers: list[tuple[int, int, int]] = []
        self.offers: list[tuple[int, ...]] = []
        self.reports: list[tuple[int, ...]] = []
        self.ends: list[tuple[int, ...]] = []
        self.lost = 0

    def run(self) -> None:
        for cycle in range(LAST):
            inputs = self._inputs(cycle)
            outputs = self.model.outputs(inputs)
            self.lost = outputs["lost"] or 0
            taken = self._take(cycle, outputs)
            self._report(cycle, inputs, outputs["kill"] or 0, taken)
            if outputs["ended__valid"]:
                record = layouts.dispatch_end(self.config).unpack(outputs["ended__payload"] or 0)
                place, fate, code = (record[name] for name in ("place", "fate", "code"))
                self.ends.append((cycle - 1, place, fate, code, record["cycles"]))
                self.running[place] = None
            number = len(self.transfers)
            if inputs["launch__valid"] and outputs["launch__ready"]:
                place = self.running.index(None)
                self.running[place] = number
                self.transfers.append((cycle, place, number))
            self.model.tick(inputs)

    def _inputs(self, cycle: int) -> dict[str, int]:
        config, number = self.config, len(self.transfers)
        waits = number < len(self.launches) and self.launches[number][0] <= cycle
        payload = self._payload(number) if waits else 0
        kinds = dict.fromkeys(("place0", "place1"), 0)
        for at, place, stop in self.stops:
            if at == cycle:
                kinds[f"place{place}"] = int(stop)
        inputs = {
            "launch__valid": int(waits),
            "launch__payload": payload,
            "stop": layouts.dispatch_stop(config).pack(kinds),
            "enable": (1 << config.sms) - 1,
            "ended__ready": 1,
            "order_table__valid": 0,
            "order_table__payload": 0,
        }
        for n in range(config.sms):
            inputs |= {f"offer__{n}__ready": 1, f"report__{n}__valid": 0}
            inputs[f"report__{n}__payload"] = 0
        return inputs

    def _payload(self, number: int) -> int:
        launch, packet = self.launches[number][1], layouts.dispatch_launch(self.config)
        values = dict.fromkeys((field.name for field in packet.fields), 0)
        values |= {k: v for k, v in launch.values(self.config).items() if k in values}
        count = warps(launch.block, self.config.warp_size)
        values |= {"ticket": number + 1, "warps": count}
        values |= {"registers": count * launch.warp_registers, "threads": threads(launch.block)}
        values["last_mask"] = last_mask(launch.block, self.config.warp_size)
        for axis, width in zip("xyz", widths(launch.block), strict=True):
            values[f"width_{axis}"] = width
        return packet.pack(values)

    def _take(self, cycle: int, outputs: dict[str, int | None]) -> dict[int, int]:
        """Let the SMs take their offers; return the slot that each one took."""
        taken = {}
        for n, sm in enumerate(self.sms):
            sm.begin(cycle)
            if not outputs[f"offer__{n}__valid"]:
                continue
            offer = layouts.block_offer(self.config).unpack(outputs[f"offer__{n}__payload"] or 0)
            number = self.running[offer["place"]]
            assert number is not None
            launch = self.launches[number][1]
            at = offer["bx"], offer["by"], offer["bz"]
            length = block_length(self.seed, launch.code, launch.arguments, at)
            faulty = self.behaviour.faults.get(launch.code) == offer["bx"]
            count = warps(launch.block, self.config.warp_size)
            status = FAULT if faulty else OK
            recorded = launch.address_space
            sm.take(offer["slot"], offer["place"], length, count, recorded, status)
            taken[n] = offer["slot"]
            self.offers.append((cycle, n, offer["slot"], number + 1, offer["bx"]))
        return taken

    def _report(self, cycle: int, inputs: dict[str, int], kill: int, taken: dict[int, int]) -> None:
        for n, sm in enumerate(self.sms):
            # A lost SM's blocks are nobody's: they end as they would have.
            if not self.lost >> n & 1:
                sm.kill(kill)
            silent = cycle >= self.behaviour.silent_from.get(n, LAST)
            sent, _ = sm.send(taken.get(n), silent=silent)
            if sent is not None:
                slot, _, status = sent
                fields = {"slot": slot, "status": int(status)}
                inputs[f"report__{n}__valid"] = 1
                inputs[f"report__{n}__payload"] = layouts.block_report(self.config).pack(fields)
                self.reports.append((cycle, n, slot, int(status)))


def draw(rng: random.Random, config: Config) -> tuple[Launches, Stops]:
    """Draw launches, each with the first cycle in which it is offered, and stops."""
    launches: Launches = []
    cycle = 0
    for number in range(rng.randint(3, 12)):
        cycle += rng.choice((0, 1, 5, 60))
        launch = LaunchDescriptor(
            grid=(rng.randint(1, 6 * config.sms), 1, 1),
            block=rng.choice(((8, 1, 1), (16, 2, 1), (64, 1, 1))),
            warp_registers=rng.randint(0, 4),
            barriers=rng.randint(0, 1),
            stream=rng.randrange(2),
            after_previous=rng.randrange(2),
            code=number,
            arguments=rng.choice((4, 20, 200)),
            address_space=rng.randrange(20),
        )
        launches.append((cycle, launch))
    kinds = (Stop.DRAIN, Stop.DRAIN, Stop.KILL)
    stops = {
        (rng.randrange(20, 900), place): rng.choice(kinds)
        for place in (0, 1)
        for _ in range(rng.randint(0, 16))
    }
    return launches, sorted((cycle, place, stop) for (cycle, place), stop in stops.items())


def force(
    run: int, launches: Launches, stops: Stops, behaviour: SmBehaviour, rng: random.Random
) -> tuple[Launches, Stops, SmBehaviour]:
    """Let a run's first two launches meet a case, whatever else was drawn.

    The first launch fills both SMs of `tiny` three times over, for about 200 cycles each: it is in
    place 0 and offers blocks still when it is stopped. The second one waits for it in place 1.
    """
    if run >= len(FORCED):
        return launches, stops, behaviour
    case = FORCED[run]
    brief = case in ("FINISHED", "code 17")
    one = LaunchDescriptor(
        grid=(12, 1, 1),
        block=(64, 1, 1),
        warp_registers=0,
        barriers=0,
        stream=0,
        after_previous=0,
        code=0,
        arguments=20 if brief else 200,
        # Two of its blocks are 16 warps: they take as long with contention.
        address_space=16,
    )
    launches = [(0, one), (0, replace(one, after_previous=1, code=1)), *launches[2:]]
    stops = [stop for stop in stops if stop[0] > 400]
    at = rng.randint(40, 140)
    if case == "DRAINED":
        stops = [(at, 0, Stop.DRAIN), *stops]
    elif not brief:
        stops = [(at, 0, Stop.KILL), (at, 1, rng.choice((Stop.KILL, Stop.DRAIN))), *stops]
    lost = {0: rng.randint(4, 40)} if case == "code 18" else {}
    faults = {n: block for n, block in behaviour.faults.items() if n > 1}
    return (
        launches,
        stops,
        replace(
            behaviour,
            # All SMs report a kill in time.
            report_time=min(behaviour.report_time, 20),
            silent_from=lost,
            faults=faults | ({0: rng.randrange(12)} if case == "code 17" else {}),
        ),
    )


def events(reference: Reference, config: Config, seed: int) -> EventDispatcher:
    """Run the event model with the reference's transfers and stops; compare the ends."""
    launches = reference.launches
    model = EventDispatcher(config, seed, reference.behaviour, 1 << 12, reference.knee)
    calls = [(cycle, 0, place, number) for cycle, place, number in reference.transfers]
    calls += [(cycle, 1, place, int(stop)) for cycle, place, stop in reference.stops]
    ends = []
    standing = [False, False]
    cycle, queue = 0, sorted(calls)
    while cycle < LAST:
        while queue and queue[0][0] == cycle:
            _, kind, place, what = queue.pop(0)
            if kind == 0:
                model.hand_over(cycle, place, launches[what][1], what + 1)
                standing[place] = True
            elif standing[place] and (cycle, place) not in {t[:2] for t in reference.transfers}:
                model.stop(cycle, place, Stop(what))
        until = queue[0][0] if queue else LAST
        cycle, end, _ = model.advance(cycle, until)
        if end is not None:
            standing[end.place] = False
            ends.append((cycle - 1, end.place, int(end.fate), int(end.code), end.cycles))
    assert early(ends) == early(reference.ends)
    return model


def early(rows: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return the rows of cycles in which both models have seen all."""
    return sorted(tuple(row) for row in rows if row[0] < LAST - 8)


@pytest.mark.parametrize(
    ("policy", "reclaim", "knee"), deep_but(DEFAULT[-1:], RUNS, thorough=DEFAULT[:-1])
)
def test_stops_faults_and_losses_equal_the_cycle_model(
    policy: str, reclaim: str, knee: int | None, seed: int
) -> None:
    config = replace(preset("tiny"), policy=policy, reclaim=reclaim, kill_timeout=40)
    seen: Counter[str] = Counter()
    for k in range(12):
        rng = random.Random(f"{seed} {policy} {reclaim} {k}")
        launches, stops = draw(rng, config)
        silent = {sm: rng.randint(20, 700) for sm in range(config.sms) if not rng.randrange(3)}
        behaviour = SmBehaviour(
            report_time=rng.choice((0, 0, 3, 20, 38, 45)),
            silent_from=silent if k % 3 == 0 else {},
            faults={n: rng.randrange(4) for n in range(len(launches)) if not rng.randrange(5)},
        )
        launches, stops, behaviour = force(k, launches, stops, behaviour, rng)
        reference = Reference(config, launches, stops, behaviour, k, knee)
        reference.run()
        model = events(reference, config, k)
        label = f"seed {seed}, run {k}"
        assert early(model.offers.T.tolist()) == early(reference.offers), label
        assert early(model.reports.T.tolist()) == early(reference.reports), label
        assert model.lost == [n for n in range(config.sms) if reference.lost >> n & 1], label
        met = Counter(Fate(end[2]).name for end in reference.ends)
        met += Counter(f"code {end[3]}" for end in reference.ends)
        met["lost"] += len(model.lost)
        assert k >= len(FORCED) or met[FORCED[k]], f"{label}: no {FORCED[k]}"
        seen += met
    wanted = ("FINISHED", "KILLED", "DRAINED", "SKIPPED", "lost", "code 17", "code 18")
    assert all(seen[what] for what in wanted), seen
