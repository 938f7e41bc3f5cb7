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
from warploom_golden.replay.waits import Waits
from warploom_spec import (
    RESOURCES,
    BlockStatus,
    Config,
    LaunchDescriptor,
    Packet,
    layouts,
    queue_packets,
    resident_packets,
)
from warploom_spec.queue_packets import FINAL_RECORD_WORDS

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
        # By slot: target, stream, status, warps.
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
        stream: int,
        length: int,
        warps: int,
        recorded: int,
        status: BlockStatus = BlockStatus.OK,
    ) -> None:
        """Take a block, whose report says ``status`` unless it is killed."""
        work = max(4 * 65536, length * self.rate(recorded))
        self.blocks[slot] = self.progress + work, stream, status, warps

    def kill(self, level: int) -> None:
        """End the blocks of killed streams that are not due."""
        for slot, (target, stream, _, warps) in self.blocks.items():
            if level >> stream & 1 and target > self.progress and slot not in self.ending:
                self.blocks[slot] = target, stream, BlockStatus.KILLED, warps
                self.ending[slot] = self.report_time
        self._end_killed()

    def send(
        self, taken: int | None, *, ready: bool = True, silent: bool = False
    ) -> tuple[tuple[int, int, BlockStatus] | None, bool]:
        """Return slot, stream and status of the block at the port, and whether it is reported.

        The block that was ``taken`` in this cycle, by its slot, slows no one down in it. A
        ``silent`` SM reports nothing.
        """
        due = [
            (block[0], slot)
            for slot, block in self.blocks.items()
            if block[0] <= self.progress and slot not in self.ending
        ]
        waits = None
        if due and not silent:
            _, slot = min(due)
            _, stream, status, _ = self.blocks[slot]
            waits = slot, stream, status
            if ready:
                del self.blocks[slot]
        held = (block[3] for slot, block in self.blocks.items() if slot != taken)
        self.load = sum(held)
        return waits, waits is not None and ready


class Aborter:
    """The source of ABORTs: kills launches after a block that their seed says."""

    def __init__(self, seed: int, every: int | None):
        self.seed, self.every = seed, every
        self.waiting: list[int] = []

    def take(self, launch: LaunchDescriptor, ticket: int, block: int) -> None:
        """Look at an offered block; the ABORT is valid from the next cycle on."""
        if not self.every or not launch.code or launch.code % self.every:
            return
        gx, gy, gz = launch.grid
        if block == mix(mix(self.seed ^ launch.code)) * gx * gy * gz >> 32:
            self.waiting.append(ticket)


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
        waits: Waits | None = None,
    ):
        self.arrivals = arrivals or [0] * len(launches)
        self.pairs = waits.pairs if waits else [()] * len(launches)
        self.launches, self.config, self.seed = launches, config, seed
        self.model = LaunchPath(config)
        self.sms = [SmCore(knee) for _ in range(config.sms)]
        self.aborter = Aborter(seed, kill_every)
        self.rows: dict[str, list[dict[str, int]]] = {}
        self.record: dict[int, int] = {}
        # The ticket in the words of the last offer.
        self.standing = 0
        self.tickets: dict[int, int] = {}
        self.answered = self.sent = self.accepted = 0
        self.seen: Counter[str] = Counter()

    def run(self) -> Events:
        rest = 0
        for cycle in range(LIMIT):
            inputs = self._inputs(cycle)
            outputs = self.model.outputs(inputs)
            if self._may_send(cycle, outputs):
                inputs["launch__valid"] = 1
                inputs["launch__payload"] = self._pack(self.sent)
                self.sent += 1
            # Offers and `kill` are registers: an SM answers in the cycle in which it sees them.
            self._run_sms(cycle, inputs, outputs)
            self._see(cycle, self.model.outputs(inputs))
            self.model.tick(inputs)
            ended = len(self.rows.get("ended", ())) == self.accepted
            rest += self.answered == len(self.launches) and ended
            if rest == DRAIN + 2 * self.config.max_warps:
                stalls = {f"stall_{cause}": 0 for cause in ("order", *RESOURCES, "offer")}
                return Events(self._tables(), {name: outputs.get(name) or 0 for name in stalls})
        raise AssertionError(f"not over after {LIMIT} cycles")

    def _may_send(self, cycle: int, outputs: Mapping[str, int | None]) -> bool:
        if cycle < 1 or self.sent == len(self.launches) or self.arrivals[self.sent] > cycle:
            return False
        room = (outputs["room"] or 0) >> self.launches[self.sent].priority & 1
        return bool(room and outputs["records_left"] and outputs["launch__ready"])

    def _inputs(self, cycle: int) -> dict[str, int]:
        ports = ("launch", "command", "abort", "clear_stream", "order_swap", "read")
        inputs = {f"{port}__{part}": 0 for port in ports for part in ("valid", "payload")}
        inputs |= {
            "enable": (1 << self.config.sms) - 1,
            **dict.fromkeys(("pop", "data__ready"), 1),
            **dict.fromkeys(("tables", "launch_timeout", "soft_reset_active", "restart"), 0),
            "abort__valid": int(bool(self.aborter.waiting)),
            "abort__payload": next(iter(self.aborter.waiting), 0),
        }
        for number in range(self.config.sms):
            inputs[f"report__{number}__valid"] = inputs[f"report__{number}__payload"] = 0
        return inputs

    def _pack(self, number: int) -> int:
        """Return a launch at the port."""
        packet = queue_packets.queued_launch(self.config)
        values = self.launches[number].values(self.config)
        for k, (stream, count) in enumerate(self.pairs[number]):
            values |= {f"wait{k}_valid": 1, f"wait{k}_stream": stream, f"wait{k}_count": count}
        return packet.pack({field.name: values.get(field.name, 0) for field in packet.present})

    def _run_sms(
        self, cycle: int, inputs: dict[str, int], outputs: Mapping[str, int | None]
    ) -> None:
        """Let the SMs take offers and report."""
        if inputs["abort__valid"] and outputs["abort__ready"]:
            self.aborter.waiting.pop(0)
        kill = outputs["kill"] or 0
        self.seen["both killed"] += kill.bit_count() > 1
        offered = (outputs["offer"] or 0).bit_length() - 1
        for number, sm in enumerate(self.sms):
            taken = None
            sm.begin(cycle)
            if number == offered:
                block = self._take(cycle, number, outputs)
                self.seen["taken while killed"] += kill >> block["stream"] & 1
                taken = block["slot"]
            sm.kill(kill)
            ready = bool(outputs[f"report__{number}__ready"])
            waits, sent = sm.send(taken, ready=ready)
            if waits is not None:
                row = {"slot": waits[0], "status": int(waits[2])}
                inputs[f"report__{number}__valid"] = 1
                inputs[f"report__{number}__payload"] = layouts.block_report(self.config).pack(row)
            if sent:
                slot, stream, status = waits
                self.seen["ok while killed"] += kill >> stream & 1 and status == BlockStatus.OK
                self.seen["reported when taken"] += slot == taken
                self._note("reports", cycle, {"sm": number, **row})

    def _note(self, kind: str, cycle: int, row: Mapping[str, int]) -> None:
        self.rows.setdefault(kind, []).append({"cycle": cycle, **row})

    def _see(self, cycle: int, outputs: Mapping[str, int | None]) -> None:
        config = self.config

        def unpacked(packet: Packet, port: str) -> dict[str, int]:
            fields = packet.unpack(outputs[port] or 0)
            fields.pop("valid", None)
            return fields

        if outputs["answer"]:
            answer = unpacked(queue_packets.queue_answer(config), "answer")
            self._note("answers", cycle, answer)
            if answer["ticket"]:
                self.accepted += 1
                self.tickets[answer["ticket"]] = self.answered
            self.answered += 1
        if outputs["killed"]:
            self._note("killed", cycle, unpacked(queue_packets.queue_stream(config), "killed"))
        if outputs["timeline"]:
            step = unpacked(queue_packets.timeline_step(config), "timeline")
            self._note("timeline", cycle, step)
        word = resident_packets.record_word(config).unpack(outputs["record"] or 0)
        if word["valid"]:
            self._see_word(cycle, word)
        decision = layouts.index_decision(config)
        for kind, port in (("decisions", "decided"), ("done", "done")):
            if outputs[f"{port}_valid"]:
                self._note(kind, cycle, unpacked(decision, port))
        if outputs["written_valid"]:
            self._note("warps", cycle, unpacked(layouts.packed_warp(config), "written"))
        for source, port in enumerate(("dispatch_error", "index_error")):
            error = layouts.error_record(config).unpack(outputs[port] or 0)
            if error.pop("valid"):
                self._note("errors", cycle, {"source": source, **error})

    def _see_word(self, cycle: int, word: Mapping[str, int]) -> None:
        self._note("record_words", cycle, {n: word[n] for n in ("last", "word", "data")})
        self.record[word["word"]] = word["data"]
        if word["last"]:
            words = [self.record.get(k, 0) for k in range(FINAL_RECORD_WORDS)]
            layout = queue_packets.final_record_words(self.config)
            self._note("ended", cycle, layout.unpack(words))
            self.record.clear()

    def _take(self, cycle: int, number: int, outputs: Mapping[str, int | None]) -> dict[str, int]:
        """Take an offer; return its fields."""
        block = resident_packets.resident_block(self.config).unpack(outputs["block"] or 0)
        words = layouts.launch_words(self.config).unpack(outputs["words"] or 0)
        place = block["bx"], block["by"], block["bz"]
        length = block_length(self.seed, words["code"], words["arguments"], place)
        self.sms[number].take(
            block["slot"], block["stream"], length, words["warps"], words["address_space"]
        )
        launch = self.launches[self.tickets[words["ticket"]]]
        self.aborter.take(launch, words["ticket"], block["block_number"])
        self._note("offers", cycle, {"sm": number, "ticket": words["ticket"], **block})
        if words["ticket"] != self.standing:
            self.standing = words["ticket"]
            self._note("words", cycle, words)
        return block

    def _tables(self) -> dict[str, Table]:
        return {
            kind: {name: _column([row[name] for row in rows]) for name in rows[0]}
            for kind, rows in self.rows.items()
        }


def difference(reference: Events, model: Events) -> str | None:
    """Return the first difference, or None: only the reference's columns count."""
    for kind in {
        *reference.tables,
        *(k for k, table in model.tables.items() if len(table["cycle"])),
    }:
        if kind == "starts":
            # No port of the whole says it.
            continue
        if kind not in reference.tables:
            return f"{kind}: the model has some, and the reference none"
        for name, column in reference.tables[kind].items():
            other = model.tables[kind][name]
            if len(column) != len(other):
                return f"{kind}: {len(column)} in the reference, {len(other)} in the model"
            if not len(column):
                continue
            rows, others = column.reshape(len(column), -1), other.reshape(len(other), -1)
            # A wide column has as many words as its highest value needs.
            wide = rows.shape[1]
            unequal = (rows != others[:, :wide]).any(axis=1) | others[:, wide:].any(axis=1)
            if unequal.any():
                k = int(unequal.argmax())
                return (
                    f"{kind} {k}: {name} is {column[k]} in the reference, {other[k]} in the model"
                )
    if reference.stalls != model.stalls:
        return f"stalls: {reference.stalls} in the reference, {model.stalls} in the model"
    return None


def assert_equal(reference: Events, model: Events, label: str) -> None:
    """Demand that all is equal."""
    found = difference(reference, model)
    assert found is None, f"{label}: {found}"


def _column(values: Sequence[int]) -> np.ndarray:
    if max(values) < 1 << 64:
        return np.array(values, np.uint64)
    bits = max(values).bit_length()
    words = [[value >> low & (1 << 64) - 1 for low in range(0, bits, 64)] for value in values]
    return np.array(words, np.uint64).reshape(len(values), -(-bits // 64))
