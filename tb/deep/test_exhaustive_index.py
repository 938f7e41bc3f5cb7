"""Every legal block shape at W = 32, every index of every thread against division.

All shapes go through the model, a stratified sample of them through the RTL beside the model.
"""

import random

import pytest
from rich.console import Console
from rich.progress import Progress

from tb.history_monitor import INDEX_MONITORS
from tb.index_cases import CONFIGS, config_of, index_config
from tb.record import Sender
from tb.test_index_generator import make
from warploom_golden.index_generator import IndexGenerator as Model
from warploom_golden.index_reference import Dims, shapes, threads, warps, widths
from warploom_sim.lockstep import Case, Context, run_one
from warploom_spec import Config, layouts

pytestmark = pytest.mark.deep

NAME = "default"
#: Shapes that go through the generator in one run, and through the RTL in all.
BATCH, SAMPLE = 200, 2000
#: Regions that follow each other, so that generation never waits for a release.
PLACES = 8


def requests(config: Config, batch: list[Dims]) -> list[int]:
    """Return the shapes' configurations, each with a region that no recent one overlaps."""
    return [
        index_config(config, place % PLACES * config.max_warps, dims)
        for place, dims in enumerate(batch)
    ]


def cycles_for(config: Config, batch: list[Dims]) -> int:
    """Return cycles that suffice for a batch, stalls of one cycle in eight included."""
    return sum(max(warps(dims, config.warp_size), 12) for dims in batch) * 5 // 4 + 100


class Releaser(Sender):
    """Sends configurations one behind the other and releases each entry when it is done."""

    def __init__(self, config: Config, words: list[int]):
        super().__init__({"i": words, "release": []}, self.levels)
        self._packet = layouts.index_decision(config)

    @staticmethod
    def levels(cycle: int) -> dict[str, int]:
        """Take everything, but stall the write port in one cycle of eight."""
        return {"cancel": 0, "decision__ready": 1, "done__ready": 1,
                "write__ready": int(cycle % 8 != 5)}

    def see(self, outputs: dict[str, int | None]) -> None:
        """Release what is done."""
        super().see(outputs)
        if outputs["done__valid"]:
            answer = self._packet.unpack(outputs["done__payload"] or 0)
            self.waiting["release"].append(answer["entry"])


def make_releaser(context: Context) -> Releaser:
    """Make the stimulus of a lockstep run from the shapes in its options."""
    config = config_of(context)
    return Releaser(config, requests(config, context.options["shapes"]))


def through_the_model(config: Config, batch: list[Dims]) -> int:
    """Return the shapes that were written; the monitor compares each with division."""
    model, monitor = Model(config, memory=False), INDEX_MONITORS[NAME]()
    stimulus = Releaser(config, requests(config, batch))
    outputs = None
    for cycle in range(cycles_for(config, batch)):
        inputs = stimulus.next(outputs)
        outputs = model.outputs(inputs)
        monitor.see(cycle, inputs, outputs)
        model.tick(inputs)
    return monitor.counts()["shapes_written"]


def through_the_rtl(config: Config, batch: list[Dims]) -> int:
    """As `through_the_model`, on Verilator, every output compared with the model's too."""
    case = Case(
        make=make,
        params={"config": NAME, "memory": False},
        seed=0,
        cycles=cycles_for(config, batch),
        resets=0,
        stimulus=make_releaser,
        options={"shapes": [list(dims) for dims in batch]},
        events={"indices": INDEX_MONITORS[NAME]},
    )
    return run_one(case, "verilator").counts["shapes_written"]


def stratified(every: list[Dims], count: int, rng: random.Random) -> list[Dims]:
    """Return one shape out of each of ``count`` equal parts, sorted by widths and threads."""
    ordered = sorted(every, key=lambda dims: (widths(dims), threads(dims), dims))
    edges = [len(ordered) * part // count for part in range(count + 1)]
    return [rng.choice(ordered[low:high]) for low, high in zip(edges, edges[1:], strict=False)]


@pytest.mark.parametrize("through", [through_the_model, through_the_rtl])
def test_every_index_of_every_thread(through, seed, capsys):
    config = CONFIGS[NAME]
    chosen = shapes(config.max_threads)
    assert len(chosen) == 25_670
    if through is through_the_rtl:
        chosen = stratified(chosen, SAMPLE, random.Random(seed))
        assert len(set(chosen)) == SAMPLE
    random.Random(seed).shuffle(chosen)
    written = 0
    with capsys.disabled(), Progress(console=Console()) as progress:
        title = through.__name__.replace("_", " ")
        for start in progress.track(range(0, len(chosen), BATCH), description=title):
            written += through(config, chosen[start : start + BATCH])
        total = sum(threads(dims) for dims in chosen)
        progress.console.print(f"{title}: {written} shapes, {total:,} threads equal division")
    assert written == len(chosen)
