"""SMs around LaunchPath at random: blocks, kills, reports and reads of indices."""

import random
from collections.abc import Mapping
from typing import Any

from warploom_spec import BlockStatus, Config, layouts, resident_packets

#: Chance in a cycle that a killed block is ended.
_ENDS = 0.2
#: Cycles from a mute block's own end to its report: longer than an SM takes to be lost.
_MUTE = 2000


class PathSms:
    """All SMs; a launch's ``code`` is the length of its blocks.

    Parameters
    ----------
    config : Config
        The machine.
    mood : Mood
        Faults, mute blocks.
    rng : random.Random
        For everything.
    """

    def __init__(self, config: Config, mood: Any, rng: random.Random):
        self._config, self._mood, self._rng = config, mood, rng
        self._block = resident_packets.resident_block(config)
        self._words = layouts.launch_words(config)
        self._report = layouts.block_report(config)
        self._read = layouts.index_read(config) if config.makes_indices else None
        #: Of each SM: when it ends, stream, slot, status, and whether a kill ends it.
        self._running: list[list[list[int]]] = [[] for _ in range(config.sms)]
        self._standing: list[int | None] = [None] * config.sms
        self._reads: list[int] = []

    def inputs(self, now: int, kill: int, *, calm: bool) -> dict[str, int]:
        """Return the inputs of a cycle; ``kill`` is the last cycle's."""
        values: dict[str, int] = {}
        for sm, running in enumerate(self._running):
            self._report_of(now, sm, running, kill, calm)
            standing = self._standing[sm]
            values[f"report__{sm}__valid"] = int(standing is not None)
            values[f"report__{sm}__payload"] = standing or 0
        if self._config.makes_indices:
            values["read__valid"] = int(bool(self._reads))
            values["read__payload"] = self._reads[0] if self._reads else 0
            values["data__ready"] = int(self._rng.random() < 0.8)
        if self._config.has_order_table:
            bits = layouts.order_swap(self._config).bits
            values["order_swap__valid"] = int(self._rng.random() < 0.02)
            values["order_swap__payload"] = self._rng.getrandbits(bits)
        return values

    def _report_of(
        self, now: int, sm: int, running: list[list[int]], kill: int, calm: bool
    ) -> None:
        rng = self._rng
        for one in running:
            # In the end all SMs hear of kills, but for blocks that are mute.
            if kill >> one[1] & 1 and one[4] and rng.random() < _ENDS and one[0] > now:
                one[0] = now
                one[3] = BlockStatus.KILLED if one[3] == BlockStatus.OK else one[3]
        ready = [one for one in running if one[0] <= now]
        if self._standing[sm] is None and ready and (calm or rng.random() < 0.7):
            one = rng.choice(ready)
            running.remove(one)
            self._standing[sm] = self._report.pack({"slot": one[2], "status": int(one[3])})

    def see(self, now: int, inputs: Mapping[str, int], outputs: Mapping[str, int | None]) -> None:
        """Note what was taken and offered in a cycle."""
        for sm in range(self._config.sms):
            if inputs[f"report__{sm}__valid"] and outputs[f"report__{sm}__ready"]:
                self._standing[sm] = None
        if self._config.makes_indices and inputs["read__valid"] and outputs["read__ready"]:
            self._reads.pop(0)
        if outputs["offer"]:
            block = self._block.unpack(outputs["block"] or 0)
            words = self._words.unpack(outputs["words"] or 0)
            self._take(now, outputs["offer"].bit_length() - 1, block, words)

    def _take(self, now: int, sm: int, block: Mapping[str, int], words: Mapping[str, int]) -> None:
        rng = self._rng
        fault, mute = (rng.random() < chance for chance in (self._mood.fault, self._mood.mute))
        status = BlockStatus.FAULT if fault else BlockStatus.OK
        ends = now + (_MUTE if mute else words["code"])
        self._running[sm].append([ends, block["stream"], block["slot"], status, int(not mute)])
        if self._read is not None and rng.random() < 0.2:
            warps = block["warps"]
            read = {"address": block["index_address"], "index_warps": warps}
            self._reads.append(self._read.pack(read | {"warp": rng.randint(0, warps)}))
