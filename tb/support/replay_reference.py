"""A replay in plain Python: LaunchPath's cycle model, a stand-in for the SMs, a recorder.

Slow and simple, written from ``docs/replay/replay.md`` beside the event model, which is tested
against it.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from warploom_golden.launch import LaunchPath
from warploom_golden.replay.event_model import Events, Table
from warploom_sim.records import STALLS, record_packets
from warploom_spec import Config, LaunchDescriptor, layouts

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
    """One SM's stand-in: due blocks, the one that is due first goes first."""

    def __init__(self) -> None:
        self.due: dict[int, int] = {}

    def send(self, cycle: int) -> int | None:
        """Return the slot that is reported in this cycle."""
        ready = [(due, slot) for slot, due in self.due.items() if due <= cycle]
        if not ready:
            return None
        _, slot = min(ready)
        del self.due[slot]
        return slot


class Replay:
    """One run of the cycle model; `run` returns what a recorder at its ports sees."""

    def __init__(self, launches: Sequence[LaunchDescriptor], config: Config, seed: int):
        self.launches, self.config, self.seed = launches, config, seed
        self.model = LaunchPath(config)
        self.sms = [SmCore() for _ in range(config.sms)]
        self.rows: dict[str, list[dict[str, int]]] = {kind: [] for kind in record_packets(config)}
        self.words = [0, 0]
        self.sent = 0
        self.accepted = 0

    def run(self) -> Events:
        rest = 0
        for cycle in range(LIMIT):
            inputs = self._inputs(cycle)
            outputs = self.model.outputs(inputs)
            if not outputs["room"]:
                # A register's value: the source sends nothing in this cycle.
                inputs |= {"launch__valid": 0, "launch__payload": 0}
                outputs = self.model.outputs(inputs)
            self._see(cycle, inputs, outputs)
            self.model.tick(inputs)
            answered = len(self.rows["answers"]) == len(self.launches)
            rest += answered and len(self.rows["ended"]) == self.accepted
            if rest == DRAIN + 2 * self.config.max_warps:
                return Events(self._tables(), {name: outputs[name] for name in STALLS})
        raise AssertionError(f"not over after {LIMIT} cycles")

    def _inputs(self, cycle: int) -> dict[str, int]:
        config = self.config
        sending = cycle >= 1 and self.sent < len(self.launches)
        inputs = {
            "launch__valid": int(sending),
            "launch__payload": self.launches[self.sent].pack(config) if sending else 0,
            "enable": (1 << config.sms) - 1,
            **dict.fromkeys(("ended__ready", "data__ready"), 1),
            **dict.fromkeys(("tables", "stop__valid", "stop__payload"), 0),
            **dict.fromkeys(("clear_stream__valid", "clear_stream__payload"), 0),
            **dict.fromkeys(("order_table__valid", "order_table__payload"), 0),
            **dict.fromkeys(("read__valid", "read__payload"), 0),
        }
        for number, sm in enumerate(self.sms):
            slot = sm.send(cycle)
            inputs[f"offer__{number}__ready"] = 1
            inputs[f"report__{number}__valid"] = int(slot is not None)
            inputs[f"report__{number}__payload"] = slot or 0
            if slot is not None:
                row = {"cycle": cycle, "sm": number, "slot": slot, "status": 0}
                self.rows["reports"].append(row)
        return inputs

    def _see(
        self, cycle: int, inputs: Mapping[str, int], outputs: Mapping[str, int | None]
    ) -> None:
        config = self.config

        def note(kind: str, packet: layouts.Packet, payload: int | None, **more: int) -> None:
            assert payload is not None
            self.rows[kind].append({"cycle": cycle, **more, **packet.unpack(payload)})

        self.sent += inputs["launch__valid"]
        if outputs["answer"]:
            note("answers", layouts.launch_answer(config), outputs["answer"])
            self.accepted += self.rows["answers"][-1]["ticket"] != 0
        if outputs["ended__valid"]:
            note("ended", layouts.end_record(config), outputs["ended__payload"])
        decision = layouts.index_decision(config)
        if outputs["decided_valid"]:
            ticket = outputs["decided_ticket"] or 0
            note("decisions", decision, outputs["decided"], ticket=ticket)
        if outputs["done_valid"]:
            note("done", decision, outputs["done"])
        if outputs["written_valid"]:
            note("warps", layouts.packed_warp(config), outputs["written"])
        for place in range(2):
            words = outputs[f"words__{place}"] or 0
            if words != self.words[place]:
                note("words", layouts.launch_words(config), words, place=place)
            self.words[place] = words
        for source, port in enumerate(("dispatch_error", "index_error", "error")):
            error = layouts.error_record(config).unpack(outputs[port] or 0)
            if error.pop("valid"):
                self.rows["errors"].append({"cycle": cycle, "source": source, **error})
        for number in range(config.sms):
            if outputs[f"offer__{number}__valid"]:
                self._take(cycle, number, outputs[f"offer__{number}__payload"] or 0)

    def _take(self, cycle: int, number: int, payload: int) -> None:
        offer = layouts.block_offer(self.config).unpack(payload)
        words = layouts.launch_words(self.config).unpack(self.words[offer["place"]])
        place = offer["bx"], offer["by"], offer["bz"]
        length = block_length(self.seed, words["code"], words["arguments"], place)
        self.sms[number].due[offer["slot"]] = cycle + length
        self.rows["offers"].append(
            {"cycle": cycle, "sm": number, "ticket": words["ticket"], **offer}
        )

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
