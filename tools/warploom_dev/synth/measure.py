"""Measure targets: only what changed is synthesised, placed and routed again."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

from warploom_dev.synth import flow, placer
from warploom_dev.synth.placer import Placer
from warploom_dev.synth.source import Source, generate, top_module
from warploom_dev.synth.targets import Target
from warploom_sim.build_cache import cached
from warploom_spec import WarploomError

#: What a cell weighs in LUT4s: a carry cell holds two, a distributed RAM takes a slice's worth.
LUT4_WEIGHTS: Final = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}
_DSP: Final = ("MULT18X18D", "ALU54B")
_EBR: Final = ("DP16KD", "PDPW16KD")
#: Results that stay: twice the targets, so that a branch's figures and another's are both there.
KEPT_BUILDS: Final = 128
#: LUT4s, and as many flip-flops, of each of `flow.DEVICES`: what has more, its wrapper included, is
#: not placed.
DEVICE_LUT4: Final = {"25k": 24_288, "85k": 83_640}
#: Blocks that may hold multipliers: those with LaunchCheck in them.
MULTIPLYING: Final = ("FrontEnd", "LaunchCheck", "LaunchPath")
#: Block memories of KernelQueue, BlockDispatcher and RecordQueue, by parts of cells' names.
_QUEUE_MEMORIES: Final = ("words", "plan", "pairs", "facts", "records")
_DISPATCHER_MEMORIES: Final = (
    *("launch_rows", "free_slots", "running", "done", "first_times", "last_times", "places"),
    *("line", "line_reported"),
)
_LOOP_MEMORIES: Final = ("templates", "present")
#: Blocks that may hold block memory, by the parts of its cells' names that say which memory it is.
MEMORIES: Final = {
    "IndexMemory": ("",),
    "IndexGenerator+IndexMemory": ("memory",),
    "BlockDispatcher": ("",),
    "KernelQueue": ("",),
    "RecordQueue": ("",),
    "LaunchPath": ("memory", *_QUEUE_MEMORIES, *_DISPATCHER_MEMORIES),
    "LoopExpander": _LOOP_MEMORIES,
    "FrontEnd": ("memory", *_QUEUE_MEMORIES, *_DISPATCHER_MEMORIES, *_LOOP_MEMORIES),
}


#: What tells a row from the others.
Key = tuple[str, str, str | None, str | None]


@dataclass(frozen=True, kw_only=True)
class Row:
    """The figures of one target.

    Attributes
    ----------
    block, config, policy, reclaim, device : str
        The target's.
    lut4, ccu2c, dpr16x4, ff, ebr, dsp : int
        Cells of the block alone.
    lut4eq : int
        LUT4 + 2 CCU2C + 6 for each TRELLIS_DPR16X4.
    fmax_mhz : float or None
        Median over the seeds; None if it was not placed, or does not fit the device.
    fmax_each : tuple[float, ...]
        One a seed.
    seeds : tuple[int, ...]
        Seeds of place and route.
    placed_by : str or None
        Name of the `Placer` of all seeds; None if it was not placed.
    port_bits : int
        All ports but clock and reset.
    netlist_hash : str
        SHA-256 of the Verilog without its comments.
    recipe_hash : str
        SHA-256 of the `flow.recipe` that it was measured with.
    stale : bool
        Whether Verilog or flow had changed since when the marks were written.
    """

    block: str
    config: str
    policy: str | None
    reclaim: str | None
    device: str
    lut4: int
    ccu2c: int
    dpr16x4: int
    lut4eq: int
    ff: int
    ebr: int
    dsp: int
    fmax_mhz: float | None
    fmax_each: tuple[float, ...]
    seeds: tuple[int, ...]
    placed_by: str | None
    port_bits: int
    netlist_hash: str
    recipe_hash: str
    stale: bool = False

    @property
    def fits(self) -> bool:
        """Whether the device holds it, wrapped: with four registers for each three port bits."""
        registers = self.ff + self.port_bits + self.port_bits // 3
        return max(self.lut4eq, registers) <= DEVICE_LUT4[self.device]

    @property
    def key(self) -> Key:
        """What tells a row from the others."""
        return self.block, self.config, self.policy, self.reclaim

    def to_json(self) -> dict[str, Any]:
        """Return the row as the committed file holds it."""
        return {**asdict(self), "seeds": list(self.seeds), "fmax_each": list(self.fmax_each)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Row":
        """Return the row that `to_json` gave."""
        lists = {name: tuple(data[name]) for name in ("seeds", "fmax_each")}
        return cls(**{**data, **lists})


@dataclass(frozen=True)
class Job:
    """A target on its way: its Verilog, the folder that keeps what was made of it, its nextpnr."""

    target: Target
    source: Source
    folder: Path
    placer: Placer


def measure(
    targets: Sequence[Target],
    workers: int,
    progress: Callable[[str], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
    *,
    placed_by: Mapping[Key, str] | None = None,
    delays: bool = False,
) -> list[tuple[Job, Row]]:
    """Measure targets, a few at a time.

    What was made before from an equal netlist and an equal flow is not made again.

    Parameters
    ----------
    targets : sequence of Target
        Their order is the rows'.
    workers : int
        Programs that run side by side.
    progress : callable
        Called after each step with what was done; `steps` says how many there are.
    tell : callable
        Called once, before the work, with a line about the nextpnr that is used.
    placed_by : mapping of key to str, optional
        Of rows that a certain nextpnr must place: which, wheel or native.
    delays : bool
        Whether all delays of what is placed are there afterwards (`flow.delays_file`).

    Raises
    ------
    WarploomError
        If a tool is missing or is not the one that a row must be placed by, a port has a width of
        its own, or a block holds a cell that it must not.
    """
    tools = flow.versions()
    usual = placer.choose(tools)
    tell(str(usual))

    def placer_of(target: Target) -> Placer:
        wanted = (placed_by or {}).get(target.key) if target.seeds else None
        if wanted:
            return placer.named(wanted, tools, target.name)
        return placer.named(placer.WHEEL, tools) if target.by_wheel else usual

    def prepare(target: Target) -> Job:
        recipe = flow.recipe(tools, target.device, target.static)
        job = _prepare(target, recipe, placer_of(target))
        progress(f"{target.name}: synthesised")
        return job

    def place(job: Job, seed: int) -> float:
        rate = _placed(job, seed, delays)
        progress(f"{job.target.name}: placed with seed {seed}")
        return rate

    with ThreadPoolExecutor(workers) as pool:
        jobs = list(pool.map(prepare, targets))
        areas = [row(job.target, job.source, _area(job), _recipe_hash(tools, job)) for job in jobs]
        rates = [
            [pool.submit(place, job, seed) for seed in job.target.seed_numbers if area.fits]
            for job, area in zip(jobs, areas, strict=True)
        ]
        return [
            (job, _rated(job, area, [rate.result() for rate in each]))
            for job, area, each in zip(jobs, areas, rates, strict=True)
        ]


def steps(targets: Sequence[Target]) -> int:
    """Return how often `measure` reports progress."""
    return sum(1 + target.seeds for target in targets)


def _rated(job: Job, area: Row, rates: Sequence[float]) -> Row:
    return with_rates(area, rates, job.placer.name if rates else None, job.target.first_seed)


def with_rates(
    area: Row, rates: Sequence[float], placed_by: str | None, first_seed: int = 1
) -> Row:
    """Return a row with the clock rates of some seeds, one after the other."""
    seeds = tuple(range(first_seed, first_seed + len(rates)))
    middle = median(rates) if rates else None
    return replace(area, fmax_mhz=middle, fmax_each=tuple(rates), seeds=seeds, placed_by=placed_by)


def area_of(cells: Counter[str]) -> dict[str, int]:
    """Return an area as rows have it, from cells by type."""
    return {
        "lut4": cells["LUT4"],
        "ccu2c": cells["CCU2C"],
        "dpr16x4": cells["TRELLIS_DPR16X4"],
        "lut4eq": sum(cells[name] * weight for name, weight in LUT4_WEIGHTS.items()),
        "ff": cells["TRELLIS_FF"],
        "ebr": sum(cells[name] for name in _EBR),
        "dsp": sum(cells[name] for name in _DSP),
    }


def row(target: Target, source: Source, cells: Counter[str], recipe_hash: str) -> Row:
    """Make a row of an area; refuse cells that must not be there."""
    area: dict[str, Any] = area_of(cells)
    if (dsp := area["dsp"]) and target.block not in MULTIPLYING:
        raise WarploomError(f"{target.name} holds {dsp} DSP; legal: {', '.join(MULTIPLYING)}")
    return Row(
        block=target.block,
        config=target.config,
        policy=target.policy,
        reclaim=target.reclaim,
        device=target.device,
        **area,
        fmax_mhz=None,
        fmax_each=(),
        seeds=(),
        placed_by=None,
        port_bits=source.port_bits,
        netlist_hash=source.netlist_hash,
        recipe_hash=recipe_hash,
    )


def _prepare(target: Target, recipe: str, placer: Placer) -> Job:
    """Generate, synthesise and wrap, or find what was made before."""
    source = generate(target)

    def make(folder: Path) -> None:
        cells = flow.synthesise(top_module(target), source.text, folder)
        (folder / "cells.json").write_text(json.dumps(cells))
        flow.wrap(source.ports, folder)

    folder = cached("synth", [target.name, source.netlist_hash, recipe], make, KEPT_BUILDS)
    job = Job(target, source, folder, placer)
    check_memories(job)
    return job


def _recipe_hash(tools: Mapping[str, str], job: Job) -> str:
    return flow.recipe_hash(tools, job.target.device, job.target.static)


def _area(job: Job) -> Counter[str]:
    return Counter(json.loads((job.folder / "cells.json").read_text()))


def check_memories(job: Job) -> None:
    """Refuse block memory that is none of the named memories.

    Raises
    ------
    WarploomError
        Names the cells.
    """
    named = MEMORIES.get(job.target.block, ())
    found = [name for kind, name in flow.cells_by_name(job.folder) if kind in _EBR]
    stray = [name for name in found if not any(part in name for part in named)]
    if stray:
        raise WarploomError(f"{job.target.name} holds block memory: {', '.join(stray[:4])}")


def _placed(job: Job, seed: int, delays: bool) -> float:
    """Place and route with a seed, or read what an earlier run placed."""
    target, files = job.target, (job.folder, seed, job.placer)
    report = flow.report_file(*files)
    if not report.exists() or (delays and not flow.delays_file(*files).exists()):
        device, static = target.device, target.static
        flow.place(seed, job.folder, device, job.placer, static=static, delays=delays)
    return flow.rate(json.loads(report.read_text()))
