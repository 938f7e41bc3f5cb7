"""One run of the replay's simulation and of its model, side by side, and what both wrote."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.event_model import Events
from warploom_sim import model_run, replay_waves, simulators
from warploom_sim.failure import ProgramError, how_it_ended, is_full
from warploom_sim.model_run import ModelJob
from warploom_sim.records import (
    ERROR_COUNTS,
    FINISHED,
    SILENT,
    STALLS,
    decode,
    in_order,
    read_end,
    read_event_file,
    record_packets,
    record_words,
)
from warploom_sim.replay_bench_build import Simulation
from warploom_spec import Config, LaunchDescriptor, Packet, WarploomError

Process = subprocess.Popen[str]
#: What a process of a run said.
LOG: Final = "log.txt"
#: Seconds between two looks at how far the simulation is.
POLL: Final = 0.1
#: Cycles without any event, above the longest block, after which a run is given up.
SILENCE_LIMIT: Final = 10_000
#: Cycles that a run goes on after its last record, above the warps of two blocks, whose indices
#: may still be written: one region in the iterator's setup, one being generated.
DRAIN: Final = 64

_STOPPED: Final = {
    SILENT: "nothing happened any more although launches wait",
    FINISHED: "",
}


@dataclass(frozen=True)
class Flip:
    """One bit of one recorded event, to be flipped: the comparison must find it."""

    kind: str
    number: int
    bit: int

    def apply(self, rows: NDArray[np.uint64], packet: Packet) -> None:
        """Flip the bit; refuse an event or a bit that does not exist."""
        if not self.number < len(rows) or not self.bit < packet.bits:
            raise WarploomError(
                f"event {self.kind}.{self.number}.{self.bit} does not exist; legal: numbers below"
                f" {len(rows)}, bits below {packet.bits}"
            )
        rows[self.number, self.bit // 64] ^= np.uint64(1) << np.uint64(self.bit % 64)


@dataclass(frozen=True)
class Recorded:
    """What the RTL's run wrote.

    Attributes
    ----------
    events : Events
        Every recorded event and the final stall counters.
    error_counts : tuple of int
        Final values of LaunchPath's counters of error records, by ``source``.
    stopped : str
        Why the run was given up, or "" if it came to its end.
    """

    events: Events
    error_counts: tuple[int, ...]
    stopped: str


@contextmanager
def model_process(job: ModelJob, folder: Path) -> Iterator[Process]:
    """Run the model in a process of its own; it writes ``events.npz`` into its folder."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "warploom_sim.model_run", job.to_json(), "events.npz"]
    with (folder / LOG).open("w") as log:
        yield from _until_left(command, cwd=folder, env=environment, stderr=log)


def _until_left(command: Sequence[str], **settings: Any) -> Iterator[Process]:
    """Start a process, give it away, and end it if it still runs when it is not needed any more.

    Ctrl-C in the middle of the start waits until the process is known, or nobody would end it.
    """
    with ExitStack() as known:
        with _interrupts_later():
            process = subprocess.Popen(command, text=True, **settings)
            known.callback(_end, process)
        yield process


def _end(process: Process) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Let Ctrl-C, and a polite kill, come at the end of this block."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread gets them
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is not signal.SIG_IGN  # which the process is to ignore, too
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def simulation_process(
    simulation: Simulation,
    launches: Sequence[LaunchDescriptor],
    config: Config,
    simulator: str,
    seed: int,
    folder: Path,
    kill_every: int | None = None,
    knee: int | None = None,
    arrivals: Sequence[int] | None = None,
    wave_cycles: tuple[int, int] | None = None,
) -> Iterator[Process]:
    """Run the simulation; it writes its event files into its folder."""
    pairs = zip(arrivals or [0] * len(launches), launches, strict=True)
    lines = (f"{arrival:x} {launch.pack(config):x}\n" for arrival, launch in pairs)
    (folder / "launches.hex").write_text("".join(lines))
    longest = max((launch.arguments for launch in launches), default=0)
    values = {
        "launches": len(launches),
        "launch_file": "launches.hex",
        "seed": seed,
        # A block is at most an eighth longer than its base length, and the fullest SM as many
        # times slower as full speed is quicker than its rate.
        "silence_limit": SILENCE_LIMIT + 2 * longest * slowdown(config, knee),
        "offer_limit": 1000 + 2 * sum(x * y * z for x, y, z in (n.grid for n in launches)),
        "drain": DRAIN + 2 * config.max_warps,
    }
    if kill_every:
        values["kill_every"] = kill_every
    if knee is not None:
        values["knee"] = knee
    if simulation.waves:
        values["waves"] = simulation.waves
        if wave_cycles:
            values["waves_from"], values["waves_until"] = replay_waves.times(wave_cycles)
    environment = {**os.environ, **simulators.environment(simulator)}
    command = [*simulation.command, *(f"+{name}={value}" for name, value in values.items())]
    if simulator == "icarus":
        command.append("-fst")
    with (folder / LOG).open("w") as log:
        yield from _until_left(
            command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT
        )


def slowdown(config: Config, knee: int | None) -> int:
    """Return how many times longer a block takes at most than its base length says."""
    return 1 if knee is None else -(-config.warp_slots // knee)


def wait(
    simulation: Process,
    model: Process,
    folder: Path,
    model_folder: Path,
    config: Config,
    report: Callable[[int], None],
) -> None:
    """Wait for both, reporting how many blocks were offered so far.

    Raises
    ------
    ProgramError
        If one of them fails, at once: by which signal or with which status, and the last line of
        what it said.
    """
    offers = folder / "offers.bin"
    size = 8 * record_words(record_packets(config)["offers"])
    while simulation.poll() is None or model.poll() is None:
        if simulation.poll() or model.poll():
            break
        time.sleep(POLL)
        report(offers.stat().st_size // size if offers.exists() else 0)
    if model.returncode:
        raise ProgramError(failure("the model", model.returncode, model_folder))
    if simulation.returncode:
        raise ProgramError(failure("the simulator", simulation.returncode, folder))


def failure(what: str, returncode: int, folder: Path) -> str:
    """Return in one line how a process ended, and why: a full disk, or its log's last line."""
    how = f"{what} {how_it_ended(returncode)}"
    if is_full(folder):
        return f"{how}: no space left on the disk of {folder}"
    said = (folder / LOG).read_text(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(said) if line.strip()), "")
    return f"{how}: {last}" if last else how


def read_model(folder: Path) -> Events:
    """Return what the model expects."""
    return model_run.read_events(folder / "events.npz")


def read_recorded(folder: Path, config: Config, flip: Flip | None = None) -> Recorded:
    """Return what the RTL's run recorded, with one bit flipped if a test asks for it.

    Raises
    ------
    ProgramError
        If an event file is not whole, or there is no end record; says so if the disk is full.
    """
    try:
        return _read_recorded(folder, config, flip)
    except ProgramError as error:
        if is_full(folder):
            raise ProgramError(f"{error}; no space left on the disk of {folder}") from error
        raise


def _read_recorded(folder: Path, config: Config, flip: Flip | None) -> Recorded:
    end = read_end(folder / "end.bin")
    why = _STOPPED.get(int(end["reason"][0]), "more blocks were offered than there are")
    tables = {}
    for kind, packet in record_packets(config).items():
        # A run that is given up may offer a block while its files are closed.
        rows = read_event_file(folder / f"{kind}.bin", packet, counted=not why)
        if flip and flip.kind == kind:
            rows = in_order(rows, packet)
            flip.apply(rows, packet)
        tables[kind] = decode(rows, packet)
    return Recorded(
        Events(tables, {name: int(end[name][0]) for name in STALLS}),
        tuple(int(end[name][0]) for name in ERROR_COUNTS),
        f"given up in cycle {int(end['cycle'][0])}: {why}" if why else "",
    )
