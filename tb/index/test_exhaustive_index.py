"""Every legal block shape at W = 32, every index of every thread against division.

All shapes go through the model, a stratified sample of them through the RTL beside the model.
"""

import random
from collections.abc import Callable

import pytest
from rich.console import Console
from rich.progress import Progress

from tb.index.test_index_generator import make
from tb.support.history_monitor import INDEX_MONITORS
from tb.support.index_cases import CONFIGS, config_of, index_config, random_shape
from tb.support.record import Sender
from warploom_golden.index import IndexGenerator as Model
from warploom_golden.oracles.index_reference import Dims, shapes, threads, warps, widths
from warploom_sim.cosim.lockstep import Case, Context, run_one
from warploom_spec import Config, layouts

pytestmark = pytest.mark.deep

#: Shapes that go through the generator in one run.
BATCH = 200
#: Shapes that go through the RTL, by configuration: other warp sizes and larger blocks too.
SAMPLES = {
    "default": 2000,
    "tiny": 400,
    "warp_2": 200,
    "warp_4": 200,
    "warp_16": 400,
    "warp_64": 400,
    "host_step": 200,
    "many_threads": 100,
}


def requests(config: Config, batch: list[Dims]) -> list[int]:
    """Return the shapes' configurations, their regions one behind the other and round again."""
    places = config.index_memory_warps // config.max_warps
    return [
        index_config(config, number % places * config.max_warps, dims)
        for number, dims in enumerate(batch)
    ]


def cycles_for(config: Config, batch: list[Dims]) -> int:
    """Return cycles that suffice for a batch, with stalls and waits for regions."""
    return sum(warps(dims, config.warp_size) + 24 for dims in batch) * 5 // 4


class Releaser(Sender):
    """Sends configurations one behind the other and releases each entry when it is done."""

    def __init__(self, config: Config, words: list[int]):
        super().__init__({"i": words, "release": []}, self.levels)
        self._packet = layouts.index_decision(config)

    @staticmethod
    def levels(cycle: int) -> dict[str, int]:
        """Take everything, but stall the write port in one cycle of eight."""
        return {
            "cancel": 0,
            "decision__ready": 1,
            "done__ready": 1,
            "write__ready": int(cycle % 8 != 5),
        }

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


def through_the_model(name: str, batch: list[Dims]) -> int:
    """Return the shapes that were written; the monitor compares each with division."""
    config = CONFIGS[name]
    model, monitor = Model(config, memory=False), INDEX_MONITORS[name]()
    stimulus = Releaser(config, requests(config, batch))
    outputs = None
    for cycle in range(cycles_for(config, batch)):
        inputs = stimulus.next(outputs)
        outputs = model.outputs(inputs)
        monitor.see(cycle, inputs, outputs)
        model.tick(inputs)
    return monitor.counts()["shapes_written"]


def through_the_rtl(name: str, batch: list[Dims]) -> int:
    """As `through_the_model`, on Verilator, every output compared with the model's too."""
    case = Case(
        make=make,
        params={"config": name, "memory": False},
        seed=0,
        cycles=cycles_for(CONFIGS[name], batch),
        resets=0,
        stimulus=make_releaser,
        options={"shapes": [list(dims) for dims in batch]},
        events={"indices": INDEX_MONITORS[name]},
    )
    return run_one(case, "verilator").counts["shapes_written"]


def stratified(every: list[Dims], count: int, rng: random.Random) -> list[Dims]:
    """Return one shape out of each of ``count`` equal parts, sorted by widths and threads."""
    ordered = sorted(every, key=lambda dims: (widths(dims), threads(dims), dims))
    edges = [len(ordered) * part // count for part in range(count + 1)]
    return [rng.choice(ordered[low:high]) for low, high in zip(edges, edges[1:], strict=False)]


def distinct(config: Config, count: int, rng: random.Random) -> list[Dims]:
    """Return random legal shapes, the special ones among them."""
    found: set[Dims] = set()
    while len(found) < count:
        found.add(random_shape(rng, config))
    return sorted(found)


def push(through: Callable[[str, list[Dims]], int], name: str, chosen: list[Dims]) -> None:
    """Send shapes through the generator in batches, and show how far it is."""
    written, title = 0, f"{through.__name__.replace('_', ' ')}, {name}"
    with Progress(console=Console()) as progress:
        for start in progress.track(range(0, len(chosen), BATCH), description=title):
            written += through(name, chosen[start : start + BATCH])
        total = sum(threads(dims) for dims in chosen)
        progress.console.print(f"{title}: {written} shapes, {total:,} threads equal division")
    assert written == len(chosen)


def test_every_shape_through_the_model(seed, capsys):
    chosen = shapes(CONFIGS["default"].max_threads)
    assert len(chosen) == 25_670
    random.Random(seed).shuffle(chosen)
    with capsys.disabled():
        push(through_the_model, "default", chosen)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_of_shapes_through_the_rtl(name, seed, capsys):
    config, rng = CONFIGS[name], random.Random(seed)
    if config.max_threads > 1024:
        chosen = distinct(config, SAMPLES[name], rng)
    else:
        chosen = stratified(shapes(config.max_threads), SAMPLES[name], rng)
    assert len(set(chosen)) == SAMPLES[name]
    rng.shuffle(chosen)
    with capsys.disabled():
        push(through_the_rtl, name, chosen)
