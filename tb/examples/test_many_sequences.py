"""SimtCore against the instruction model, turn by turn: 10,000 random sequences on Verilator.

A whole GPU of one SM runs them, a block each: blocks come and end in any order there. The GPU
prints each turn into the simulator's log.
"""

import random
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Format, Module, Print

from simt_core.packets import retired_turn
from simt_gpu import SimtGpu
from simt_host import KernelElf, gpu_run
from simt_host.gpu_run import KernelOutcome, KernelRun
from simt_host.memory_image import MEMORY_BYTES
from simt_model import Launch
from tb.examples.core_bench import Block, CoreRun
from tb.examples.random_programs import ENTRY, LANE_WORDS, WORDS, random_program
from tb.examples.turn_lockstep import TurnMismatch, check_turns
from warploom_sim.cosim.lockstep import build
from warploom_spec import preset

CONFIG = replace(preset("tiny"), sms=1)
#: A warp and a part of one.
THREADS = 13
#: Sequences of one launch, launches of one simulation, and simulations.
SEQUENCES, LAUNCHES, PARTS = 250, 10, 4


class PrintingGpu(SimtGpu):
    """A GPU that prints the turns of its SM."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.retired_valid[0]):
            m.d.sync += Print(Format("turn {:x}", self.retired[0].as_value()))
        return m


@dataclass(frozen=True)
class Program:
    """Sequences in a memory: it stands in for a `MemoryImage`, too."""

    bytes: np.ndarray
    launch: Launch
    end: int

    @property
    def arguments(self) -> int:
        """Where the data begin."""
        return self.launch.arguments

    def run(self) -> KernelRun:
        """Return the launch, as the C driver takes it."""
        launch = self.launch
        elf = KernelElf(launch.entry, (), self.end, 32, launch.shared_bytes, 1, {})
        return KernelRun(elf, (launch.grid,), (launch.block,), (self,))


def programs(rng: random.Random, launches: int, sequences: int) -> list[Program]:
    """Draw programs whose data end where the last lane's end."""
    made = []
    for _ in range(launches):
        end = ENTRY + 4 * sequences * (WORDS + THREADS * LANE_WORDS) + 0x200
        words, launch = random_program(rng, sequences, CONFIG.warp_size, THREADS, end)
        memory = np.zeros(MEMORY_BYTES, np.uint8)
        memory[:end] = words
        made.append(Program(memory, launch, end))
    return made


def printed_turns(log: str) -> list[dict[str, int]]:
    packet = retired_turn(CONFIG)
    found = re.findall(r"^turn ([0-9a-f]+)$", log, re.MULTILINE)
    return [packet.unpack(int(word, 16)) for word in found]


def check(program: Program, outcome: KernelOutcome, turns: list[dict[str, int]]) -> None:
    """Compare a launch's turns and memory with the model's."""
    assert [(record["fate"], record["code"]) for record in outcome.records] == [(0, 0)]
    blocks = [Block(program.launch, (x, 0, 0)) for x in range(program.launch.grid[0])]
    of_warp: dict[tuple[int, int], Block] = {}
    for turn in turns:
        key = turn["slot"], turn["warp"]
        # A warp's first instruction reads the block's x.
        if turn["pc"] == ENTRY:
            of_warp[key] = blocks[turn["values"] & 0xFFFFFFFF]
        turn["block"] = of_warp[key]
    check_turns(CoreRun(turns=turns, memory=outcome.memory), blocks, program.bytes)


@pytest.mark.deep
@pytest.mark.parametrize("part", range(PARTS))
def test_the_core_takes_the_models_turns(
    part: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The simulation runs for long: it is worth the compiler's time.
    *flags, _ = build.FLAGS["verilator"]
    monkeypatch.setitem(build.FLAGS, "verilator", (*flags, "-O1"))
    monkeypatch.setattr(gpu_run, "SimtGpu", PrintingGpu)
    monkeypatch.setattr(gpu_run, "_simulation", gpu_run._simulation.__wrapped__)
    drawn = programs(random.Random(f"{seed} {part}"), LAUNCHES, SEQUENCES)
    runs = [program.run() for program in drawn]
    outcomes = gpu_run.run_kernels(runs, CONFIG, "verilator", tmp_path)
    turns = printed_turns((tmp_path / "simulator.log").read_text())
    assert len(turns) == sum(outcome.instructions for outcome in outcomes)
    assert len(turns) > LAUNCHES * SEQUENCES * 2 * 20
    for program, outcome in zip(drawn, outcomes, strict=True):
        own, turns = turns[: outcome.instructions], turns[outcome.instructions :]
        check(program, outcome, own)
    # A lane's value that is wrong is found, in the last launch's last turn that writes.
    last = max(n for n, turn in enumerate(own) if turn["rd"])
    own[last]["values"] ^= 1 << 32 * ((own[last]["lanes"] & -own[last]["lanes"]).bit_length() - 1)
    with pytest.raises(TurnMismatch, match=f"turn {last}, "):
        check(program, outcome, own)
