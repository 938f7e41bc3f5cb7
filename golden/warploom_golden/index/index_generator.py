"""Cycle model of IndexGenerator: filter, iterator, packer and memory together."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_golden.index.config_filter import ConfigFilter
from warploom_golden.index.index_iterator import IndexIterator
from warploom_golden.index.index_memory import IndexMemory
from warploom_golden.index.index_packer import IndexPacker
from warploom_spec import layouts
from warploom_spec.config import Config

Values = dict[str, int]


@dataclass(frozen=True)
class Wires:
    """Inputs of the parts and outputs of the whole in one cycle."""

    filter: Values
    iterator: Values
    packer: Values
    memory: Values
    outputs: dict[str, int | None]


class IndexGenerator:
    """Cycle model of IndexGenerator.

    Ports and rules: ``docs/index/index_generator.md``.

    Parameters
    ----------
    config : Config
        As for the parts.
    memory : bool
        Whether the index memory is part of it; else ``write`` is an output stream.
    """

    def __init__(self, config: Config, memory: bool = True):
        self.filter = ConfigFilter(config)
        self.iterator = IndexIterator(config)
        self.packer = IndexPacker(config)
        self.memory = IndexMemory(config) if memory else None
        self._warp = layouts.packed_warp(config)
        #: Inputs and wires of this cycle, once they were asked for.
        self._cycle: tuple[Values, Wires] | None = None

    def reset(self) -> None:
        """Reset the parts; the memory keeps its words."""
        self._cycle = None
        for part in (self.filter, self.iterator, self.packer, self.memory):
            if part is not None:
                part.reset()

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        return self._wires_of(inputs).outputs

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        wires, self._cycle = self._wires_of(inputs), None
        self.filter.tick(wires.filter)
        self.iterator.tick(wires.iterator)
        self.packer.tick(wires.packer)
        if self.memory is not None:
            self.memory.tick(wires.memory)

    def _wires_of(self, inputs: Mapping[str, int]) -> Wires:
        """Return the wires of this cycle, which are followed once for the same inputs."""
        if self._cycle is None or self._cycle[0] != inputs:
            self._cycle = dict(inputs), self._wires(inputs)
        return self._cycle[1]

    def _wires(self, inputs: Mapping[str, int]) -> Wires:
        """Follow the cycle's values from the write port, where back-pressure starts, to the front.

        A payload whose valid is 0 reads 0 inside.
        """
        write_ready = 1 if self.memory is not None else inputs["write__ready"]
        packer = {"o__ready": write_ready}
        packed = self.packer.outputs(packer)
        word, written = packed["o__payload"] or 0, packed["o__valid"] or 0
        iterator = {"o__ready": packed["i__ready"] or 0}
        lanes = self.iterator.outputs(iterator)
        packer |= {"i__payload": lanes["o__payload"] or 0, "i__valid": lanes["o__valid"] or 0}
        last = written and write_ready and self._warp.unpack(word)["last"]
        filter_ = {
            name: inputs[name]
            for name in (
                "i__payload",
                "i__valid",
                "cancel",
                "decision__ready",
                "done__ready",
                "release__payload",
                "release__valid",
            )
        } | {"o__ready": lanes["i__ready"] or 0, "finished": int(last)}
        outputs = self.filter.outputs(filter_)
        iterator |= {
            "i__payload": outputs.pop("o__payload") or 0,
            "i__valid": outputs.pop("o__valid") or 0,
        }
        if self.memory is None:
            outputs |= {"write__payload": packed["o__payload"], "write__valid": written}
            return Wires(filter_, iterator, packer, {}, outputs)
        memory = {name: inputs[name] for name in ("read__payload", "read__valid", "data__ready")}
        memory |= {
            "accepted": outputs["accepted"] or 0,
            "write__payload": word,
            "write__valid": written,
        }
        outputs |= {"written": packed["o__payload"], "written_valid": written}
        outputs |= self.memory.outputs(memory)
        del outputs["write__ready"]
        return Wires(filter_, iterator, packer, memory, outputs)
