"""One run of the replay's simulation and of its model, side by side, and what both wrote."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from warploom_golden.replay.event_model import Events
from warploom_sim.cosim import simulators
from warploom_sim.failure import STOP_SIGNALS, how_it_ended, is_full
from warploom_sim.replay import replay_waves
from warploom_sim.replay.bench import axi_bench
from warploom_sim.replay.bench.records import (
    ERROR_COUNTS,
    FINISHED,
    SILENT,
    STALLS,
    record_packets,
    run_summary,
)
from warploom_sim.replay.bench.replay_bench_build import Simulation
from warploom_sim.replay.event_files import EventFile
from warploom_sim.replay.index_reads import SHARE
from warploom_sim.replay.model_run import ModelJob
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.replay.request_fields import plusargs
from warploom_sim.replay.sent_launches import LAUNCH_FILE
from warploom_sim.traces.kept_waits import KeptWaits
from warploom_spec import Config, LaunchDescriptor, queue_packets

Process = subprocess.Popen[bytes]
#: What a process of a run said.
LOG: Final = "log.txt"
#: Blocks of a run of which all events are held at once, at most: they take gigabytes of memory.
MOST_BLOCKS: Final = 2**24
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
class Recorded:
    """What the RTL's run wrote.

    Attributes
    ----------
    events : Events
        Every recorded event and the final stall counters.
    error_counts : tuple of int
        Final values of the hardware's counters of error records, by ``source``.
    stopped : str
        Why the run was given up, or "" if it came to its end.
    """

    events: Events
    error_counts: tuple[int, ...]
    stopped: str


@contextmanager
def model_process(job: ModelJob, folder: Path) -> Iterator[Process]:
    """Run the model in a process of its own; what it expects comes from its output in pieces."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "warploom_sim.replay.model_run", job.to_json()]
    with (folder / LOG).open("w") as log:
        settings = {"cwd": folder, "env": environment, "stderr": log}
        yield from _ended_on_exit(command, stdout=subprocess.PIPE, **settings)


def _ended_on_exit(command: Sequence[str], **settings: Any) -> Iterator[Process]:
    """Start a process, give it away, and end it if it still runs when it is not needed any more.

    Ctrl-C in the middle of the start waits until the process is known, or nobody would end it.
    """
    with ExitStack() as known:
        with _interrupts_later():
            process = subprocess.Popen(command, **settings)
            known.callback(_end, process)
        yield process


def _end(process: Process) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()
    if process.stdout:
        process.stdout.close()


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Let Ctrl-C, and what else is `STOP_SIGNALS`, come at the end of this block."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread gets them
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: came.append(number))
        for number in STOP_SIGNALS
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
    request: ReplayRequest,
    folder: Path,
    waits: KeptWaits,
    arrivals: Sequence[int] | None = None,
) -> Iterator[Process]:
    """Run the simulation of a request; it writes its event files into its folder.

    ``waits`` is what the launches wait for.
    """
    assert request.simulator
    axi = request.host == "axi"
    if axi:
        lines = axi_bench.launch_lines(launches, config, waits)
    else:
        lines = launch_lines(launches, config, waits, arrivals)
    (folder / LAUNCH_FILE).write_text("".join(lines))
    longest = max((launch.arguments for launch in launches), default=0)
    values = {
        "launches": len(launches),
        "launch_file": LAUNCH_FILE,
        **plusargs(request),
        # A block is at most an eighth longer than its base length, and the fullest SM as many
        # times slower as full speed is quicker than its rate.
        "silence_limit": SILENCE_LIMIT + 2 * longest * slowdown(config, request.knee),
        "offer_limit": 1000 + 2 * sum(x * y * z for x, y, z in (n.grid for n in launches)),
        "drain": DRAIN + 2 * config.max_warps,
        "index_reads": SHARE,
    }
    if axi and request.forced_fault in axi_bench.FAULTS:
        values["host_fault"] = axi_bench.FAULTS[request.forced_fault]
    if simulation.waves:
        values["waves"] = simulation.waves
        if request.wave_cycles:
            values["waves_from"], values["waves_until"] = replay_waves.times(request.wave_cycles)
    environment = {**os.environ, **simulators.environment(request.simulator)}
    command = [*simulation.command, *(f"+{name}={value}" for name, value in values.items())]
    if request.simulator == "icarus":
        command.append("-fst")
    with (folder / LOG).open("w") as log:
        yield from _ended_on_exit(
            command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT
        )


def launch_lines(
    launches: Sequence[LaunchDescriptor],
    config: Config,
    waits: KeptWaits,
    arrivals: Sequence[int] | None = None,
) -> Iterator[str]:
    """Give for each launch what the bench's source reads, hexadecimal."""
    packet = queue_packets.queued_launch(config)
    for number, launch in enumerate(launches):
        values = launch.values(config)
        for k, (stream, count) in enumerate(waits.pairs[number]):
            values |= {f"wait{k}_valid": 1, f"wait{k}_stream": stream}
            values[f"wait{k}_count"] = count % (1 << queue_packets.WAIT_BITS)
        fields = {field.name: values.get(field.name, 0) for field in packet.present}
        words = [arrivals[number] if arrivals else 0, *axi_bench.holds(number, launches, waits)]
        yield " ".join(f"{word:x}" for word in (*words, packet.pack(fields))) + "\n"


def slowdown(config: Config, knee: int | None) -> int:
    """Return how many times longer a block takes at most than its base length says."""
    return 1 if knee is None else -(-config.warp_slots // knee)


def failure(what: str, returncode: int, folder: Path) -> str:
    """Return in one line how a process ended, and why: a full disk, or its log's last line."""
    how = f"{what} {how_it_ended(returncode)}"
    if is_full(folder):
        return f"{how}: no space left on the disk of {folder}"
    said = (folder / LOG).read_text(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(said) if line.strip()), "")
    return f"{how}: {last}" if last else how


def read_recorded(folder: Path, config: Config) -> Recorded:
    """Return all that the RTL's run recorded.

    Raises
    ------
    ProgramError
        If an event file is not whole, or there is no summary.
    """
    end = read_end(folder / "end.bin")
    tables = {}
    for kind, packet in record_packets(config).items():
        file = EventFile(folder / f"{kind}.bin", packet)
        parts = [*iter(file.read, None), file.finish(counted=not end.stopped)]
        tables[kind] = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
    return Recorded(Events(tables, end.stalls), end.error_counts, end.stopped)


@dataclass(frozen=True)
class End:
    """What a run's summary record says.

    Attributes
    ----------
    stalls : dict of str to int
        Final stall counters.
    error_counts : tuple of int
        Final values of the hardware's counters of error records, by ``source``.
    stopped : str
        Why the run was given up, or "" if it came to its end.
    """

    stalls: dict[str, int]
    error_counts: tuple[int, ...]
    stopped: str


def read_end(path: Path) -> End:
    """Read a run's summary record.

    Raises
    ------
    ProgramError
        If the file does not hold exactly one.
    """
    end = run_summary(path)
    why = _STOPPED.get(int(end["reason"][0]), "more blocks were offered than there are")
    return End(
        {name: int(end[name][0]) for name in STALLS},
        tuple(int(end[name][0]) for name in ERROR_COUNTS),
        f"given up in cycle {int(end['cycle'][0])}: {why}" if why else "",
    )
