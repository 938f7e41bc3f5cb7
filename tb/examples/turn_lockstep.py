"""Every turn that the core retired, against the instruction model's, in the core's order."""

from collections.abc import Sequence

import numpy as np

from simt_model import BlockModel, Memory
from tb.examples.core_bench import Block, CoreRun


class TurnMismatch(AssertionError):
    """The core's turn is not the model's."""


def check_turns(run: CoreRun, blocks: Sequence[Block], memory: np.ndarray) -> None:
    """Step the model for each retired turn, and compare pc, lanes, register and values.

    At last the memories are compared, and that the model's lanes have ended.

    Raises
    ------
    TurnMismatch
        At the first turn that differs.
    """
    common = memory[: len(run.memory)].copy()
    models = {id(block): _model(block, common) for block in blocks}
    for number, turn in enumerate(run.turns):
        block = turn["block"]
        model = models[id(block)]
        warp = model.warps[turn["warp"]]
        where = f"turn {number}, block {block.position}, warp {turn['warp']}"
        if not warp.runnable.any():
            raise TurnMismatch(f"{where}: the core took a turn at {turn['pc']:#x}, no lane can")
        step = warp.step(model.memory)
        model.open_if_all_wait()
        lanes = sum(1 << int(n) for n in np.flatnonzero(step.lanes))
        rows = [turn["values"] >> 32 * n & 0xFFFFFFFF for n in range(len(step.lanes))]
        values = np.array(rows, np.uint32)
        differ = step.lanes & (values != step.values) if step.rd else np.zeros_like(step.lanes)
        found = (turn["pc"], turn["lanes"], turn["rd"], values[differ].tolist())
        expected = (step.pc, lanes, step.rd, step.values[differ].tolist())
        if found != expected:
            raise TurnMismatch(f"{where}: (pc, lanes, rd, values) {found}; model: {expected}")
    still = [block.position for block in blocks if models[id(block)].running]
    if still:
        raise TurnMismatch(f"blocks {still} have ended on the core, not in the model")
    places = np.flatnonzero(common != run.memory)
    if len(places):
        raise TurnMismatch(f"memories differ at {[hex(place) for place in places[:8]]}")


def _model(block: Block, common: np.ndarray) -> BlockModel:
    launch = block.launch
    shared = np.zeros(-(-launch.shared_bytes // 128) * 128, np.uint8)
    return BlockModel(
        Memory(common, shared),
        launch.entry,
        launch.arguments,
        launch.grid,
        launch.block,
        block.position,
        launch.warp_size,
    )
