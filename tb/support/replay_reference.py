"""A replay in plain Python: LaunchPath's cycle model, a stand-in for the SMs, a recorder.

Slow and simple, written from ``docs/replay/replay.md`` beside the event model, which is tested
against it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from warploom_golden.launch import LaunchPath
from warploom_golden.replay.event_model import Events
from warploom_golden.replay.event_tables import Table
from warploom_sim.replay.bench.records import STALLS, record_packets
from warploom_spec import BlockStatus, Config, LaunchDescriptor, Packet, layouts, queue_packets

WORD = 0xFFFF_FFFF
#: Cycles after the last record, above the warps of two blocks, whose indices may still be written.
DRAIN = 64
#: No small replay lasts longer.
LIMIT = 200_000


def mix(x: int) -> int:
    x ^= x >> 16
    x = x * 0x7FEB352D & WORD
    x ^= x >> 15
    x = x * 0x846CA68B & WORD
    return x ^ x >> 16


def block_length(seed: int, launch: int, base: int, place: tuple[int, int, int]) -> int:
    bx, by, bz = place
    h = mix(mix(mix(mix(seed ^ launch) ^ bx) ^ by) ^ bz)
    return max(4, base - (base >> 3) + (((base >> 2) * (h >> 24) & WORD) >> 8) & WORD)


class SmCore:
    """One SM's stand-in, which walks every cycle: the block with the smallest target goes first.

    In each cycle `begin`, `take`, `kill` and `send`, in this order. Without a ``knee`` every rate
    is ONE. A killed block is reported ``report_time`` cycles after the kill.
    """

    def __init__(self, knee: int | None = None, report_time: int = 0) -> None:
        self.knee = knee
        self.report_time = report_time
        self.progress = 0
        # By slot: cycles that a killed block still has. Its target is not known before.
        self.ending: dict[int, int] = {}
        # By slot: target, place, status, warps.
        self.blocks: dict[int, tuple[int, int, BlockStatus, int]] = {}
        self.load = 0

    def rate(self, warps: int) -> int:
        if self.knee is None or not warps:
            return 65536
        return min(65536, 65536 * self.knee // warps)

    def begin(self, cycle: int) -> None:
        """Begin a cycle: the one before ran at the rate of what was held in it."""
        if cycle:
            self.progress += self.rate(self.load)
        self.ending = {slot: left - 1 for slot, left in self.ending.items()}
        self._end_killed()

    def _end_killed(self) -> None:
        """Let the killed blocks be due whose time is over."""
        for slot in [slot for slot, left in self.ending.items() if left <= 0]:
            del self.ending[slot]
            self.blocks[slot] = self.progress, *self.blocks[slot][1:]

    def take(
        self,
        slot: int,
        place: int,
        length: int,
        warps: int,
        recorded: int,
        status: BlockStatus = BlockStatus.OK,
    ) -> None:
        """Take a block, whose report says ``status`` unless it is killed."""
        work = max(4 * 65536, length * self.rate(recorded))
        self.blocks[slot] = self.progress + work, place, status, warps

    def kill(self, level: int) -> None:
        """End the blocks of killed places that are not due."""
        for slot, (target, place, _, warps) in self.blocks.items():
            if level >> place & 1 and target > self.progress and slot not in self.ending:
                self.blocks[slot] = target, place, BlockStatus.KILLED, warps
                self.ending[slot] = self.report_time
        self._end_killed()

    def send(self, taken: int | None, silent: bool = False) -> tuple[int, int, BlockStatus] | None:
        """Return slot, place and status of the block that is reported in this cycle.

        The block that was ``taken`` in this cycle, by its slot, slows no one down in it. A
        ``silent`` SM reports nothing.
        """
        ready = [
            (block[0], slot)
            for slot, block in self.blocks.items()
            if block[0] <= self.progress and slot not in self.ending
        ]
        sent = None
        if ready and not silent:
            _, slot = min(ready)
            _, place, status, _ = self.blocks.pop(slot)
            sent = slot, place, status
        held = (block[3] for slot, block in self.blocks.items() if slot != taken)
        self.load = sum(held)
        return sent


class Aborter:
    """The source of ABORTs: kills launches after a block that their seed says.

    It sees the ports alone: launch words, offers that are taken, `abort`.
    """

    def __init__(self, seed: int, every: int | None):
        self.seed, self.every = seed, every
        self.waiting: list[int] = []

    def take(self, words: Mapping[str, int], offer: Mapping[str, int]) -> None:
        """Look at an offer; the ABORT is valid from the next cycle on."""
        launch = words["code"]
        if not self.every or not launch or launch % self.every:
            return
        blocks = words["gx"] * words["gy"] * words["gz"]
        last = mix(mix(self.seed ^ launch)) * blocks >> 32
        row = offer["by"] + words["gy"] * offer["bz"]
        if offer["bx"] + words["gx"] * row == last:
            self.waiting.append(words["ticket"])


class Replay:
    """One run of the cycle model; `run` returns what a recorder at its ports sees.

    ``seen`` counts the hard cases of kills that came up.
    """

    def __init__(
        self,
        launches: Sequence[LaunchDescriptor],
        config: Config,
        seed: int,
        kill_every: int | None = None,
        knee: int | None = None,
        arrivals: Sequence[int] | None = None,
    ):
        self.arrivals = arrivals or [0] * len(launches)
        self.launches, self.config, self.seed = launches, config, seed
        self.model = LaunchPath(config)
        self.sms = [SmCore(knee) for _ in range(config.sms)]
        self.aborter = Aborter(seed, kill_every)
        self.rows: dict[str, list[dict[str, int]]] = {kind: [] for kind in record_packets(config)}
        self.words = [0, 0]
        self.sent = 0
        self.accepted = 0
        self.seen: Counter[str] = Counter()

    def run(self) -> Events:
        rest = 0
        for cycle in range(LIMIT):
            inputs = self._inputs(cycle)
            outputs = self.model.outputs(inputs)
            if inputs["launch__valid"]:
                # A register's value: without room the source sends nothing in this cycle.
                priority = self.launches[self.sent].priority
                if not (outputs["room"] or 0) >> priority & 1:
                    inputs |= {"launch__valid": 0, "launch__payload": 0}
            # Offers and `kill` are registers: an SM answers in the cycle in which it sees them.
            self._run_sms(cycle, inputs, outputs)
            outputs = self.model.outputs(inputs)
            self._see(cycle, inputs, outputs)
            self.model.tick(inputs)
            answered = len(self.rows["answers"]) == len(self.launches)
            rest += answered and len(self.rows["ended"]) == self.accepted
            if rest == DRAIN + 2 * self.config.max_warps:
                return Events(self._tables(), {name: outputs[name] or 0 for name in STALLS})
        raise AssertionError(f"not over after {LIMIT} cycles")

    def _inputs(self, cycle: int) -> dict[str, int]:
        config = self.config
        left = cycle >= 1 and self.sent < len(self.launches)
        sending = left and self.arrivals[self.sent] <= cycle
        inputs = {
            "launch__valid": int(sending),
            "launch__payload": self._pack(self.launches[self.sent]) if sending else 0,
            "enable": (1 << config.sms) - 1,
            **dict.fromkeys(("pop", "data__ready"), 1),
            **dict.fromkeys(("tables", "command", "clear_stream", "launch_timeout"), 0),
            **dict.fromkeys(("soft_reset_active", "restart"), 0),
            **dict.fromkeys(("order_table__valid", "order_table__payload"), 0),
            **dict.fromkeys(("read__valid", "read__payload"), 0),
            "abort__valid": int(bool(self.aborter.waiting)),
            "abort__payload": next(iter(self.aborter.waiting), 0),
        }
        for number in range(config.sms):
            inputs[f"offer__{number}__ready"] = 1
            inputs[f"report__{number}__valid"] = inputs[f"report__{number}__payload"] = 0
        return inputs

    def _pack(self, launch: LaunchDescriptor) -> int:
        """Return a launch at the port; it waits for nothing."""
        packet, values = queue_packets.queued_launch(self.config), launch.values(self.config)
        return packet.pack({field.name: values.get(field.name, 0) for field in packet.present})

    def _run_sms(
        self, cycle: int, inputs: dict[str, int], outputs: Mapping[str, int | None]
    ) -> None:
        """Let the SMs take offers and report."""
        if inputs["abort__valid"] and outputs["abort__ready"]:
            self.aborter.waiting.pop(0)
        kill = outputs["kill"] or 0
        self.seen["both killed"] += kill == 3
        for place in range(2):
            self._note_words(cycle, place, outputs[f"words__{place}"] or 0)
        for number, sm in enumerate(self.sms):
            taken = None
            sm.begin(cycle)
            if outputs[f"offer__{number}__valid"]:
                offer = self._take(cycle, number, outputs[f"offer__{number}__payload"] or 0)
                self.seen["taken while killed"] += kill >> offer["place"] & 1
                taken = offer["slot"]
            sm.kill(kill)
            sent = sm.send(taken)
            if sent is None:
                continue
            slot, place, status = sent
            self.seen["ok while killed"] += kill >> place & 1 and status == BlockStatus.OK
            self.seen["reported when taken"] += slot == taken
            row = {"slot": slot, "status": int(status)}
            inputs[f"report__{number}__valid"] = 1
            inputs[f"report__{number}__payload"] = layouts.block_report(self.config).pack(row)
            self.rows["reports"].append({"cycle": cycle, "sm": number, **row})

    def _see(
        self, cycle: int, inputs: Mapping[str, int], outputs: Mapping[str, int | None]
    ) -> None:
        config = self.config

        def note(kind: str, packet: Packet, payload: int | None, **more: int) -> None:
            assert payload is not None
            self.rows[kind].append({"cycle": cycle, **more, **packet.unpack(payload)})

        self.sent += inputs["launch__valid"]
        pulses = {
            "answers": ("answer", queue_packets.queue_answer(config)),
            "ended": ("record", queue_packets.final_record(config)),
            "put_back": ("put_back", queue_packets.put_back(config)),
            "timeline": ("timeline", queue_packets.timeline_step(config)),
        }
        for kind, (port, pulse) in pulses.items():
            if outputs[port]:
                note(kind, pulse, outputs[port])
        if outputs["answer"]:
            self.accepted += self.rows["answers"][-1]["ticket"] != 0
        decision = layouts.index_decision(config)
        if outputs["decided_valid"]:
            note("decisions", decision, outputs["decided"])
        if outputs["done_valid"]:
            note("done", decision, outputs["done"])
        if outputs["written_valid"]:
            note("warps", layouts.packed_warp(config), outputs["written"])
        for source, port in enumerate(("dispatch_error", "index_error")):
            error = layouts.error_record(config).unpack(outputs[port] or 0)
            if error.pop("valid"):
                self.rows["errors"].append({"cycle": cycle, "source": source, **error})

    def _note_words(self, cycle: int, place: int, words: int) -> None:
        """Note a place's launch words in the cycle in which they change."""
        if words != self.words[place]:
            fields = layouts.launch_words(self.config).unpack(words)
            self.rows["words"].append({"cycle": cycle, "place": place, **fields})
        self.words[place] = words

    def _take(self, cycle: int, number: int, payload: int) -> dict[str, int]:
        """Take an offer; return its fields."""
        offer = layouts.block_offer(self.config).unpack(payload)
        words = layouts.launch_words(self.config).unpack(self.words[offer["place"]])
        place = offer["bx"], offer["by"], offer["bz"]
        length = block_length(self.seed, words["code"], words["arguments"], place)
        self.sms[number].take(
            offer["slot"], offer["place"], length, words["warps"], words["address_space"]
        )
        self.aborter.take(words, offer)
        self.rows["offers"].append(
            {"cycle": cycle, "sm": number, "ticket": words["ticket"], **offer}
        )
        return offer

    def _tables(self) -> dict[str, Table]:
        return {
            kind: {
                field.name: _column([row[field.name] for row in self.rows[kind]], field.bits)
                for field in packet.present
            }
            for kind, packet in record_packets(self.config).items()
        }


def _column(values: Sequence[int], bits: int) -> np.ndarray:
    if bits <= 64:
        return np.array(values, np.uint64)
    words = [[value >> low & (1 << 64) - 1 for low in range(0, bits, 64)] for value in values]
    return np.array(words, np.uint64).reshape(len(values), -(-bits // 64))
