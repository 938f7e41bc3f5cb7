"""Files of one run of the bench: what it reads, and the events that it writes."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from warploom_golden.replay.event_tables import Table
from warploom_sim.failure import ProgramError
from warploom_sim.methods.preempt.bench.preempt_bench import end_packet, event_packets
from warploom_sim.methods.preempt.host import distances
from warploom_sim.methods.preempt.repeated_waits import Counts
from warploom_sim.methods.preempt.runs import Setting
from warploom_sim.methods.preempt.workload import Workload
from warploom_sim.replay.bench.records import SILENT, STALLS, columns, record_words
from warploom_sim.replay.event_files import EventFile
from warploom_sim.replay.simulation_run import slowdown
from warploom_spec import Config, LaunchDescriptor, queue_packets

#: Cycles without any event, above the longest block, after which a run is given up.
_SILENCE_LIMIT: Final = 10_000
#: Columns that are kept of kinds that have many or wide events, with types that hold them.
_KEPT: Final[dict[str, dict[str, type[np.unsignedinteger]]]] = {
    "offers": {
        "cycle": np.uint64,
        "sm": np.uint16,
        "slot": np.uint8,
        "ticket": np.uint32,
        "block_number": np.uint32,
    },
    "reports": {"cycle": np.uint64, "sm": np.uint16, "slot": np.uint8, "status": np.uint8},
    "done": {"cycle": np.uint64},
    "warps": {"cycle": np.uint64, "last": np.uint8},
}
#: Kinds of which nothing is kept.
_FORGOTTEN: Final = ("words", "record_words")


def write_inputs(folder: Path, workload: Workload, setting: Setting) -> dict[str, int]:
    """Write what the bench's host reads; return the plus arguments of the run."""
    config = setting.config
    text = "".join(f"{_word(launch, (), config):x}\n" for launch in workload.urgent)
    (folder / "urgent.hex").write_text(text)
    text = "".join(
        f"{_word(launch, workload.low_waits.pairs_of(n, 0), config):x}"
        f" {_hold_words(workload.low_waits.held_of(n, 0))}\n"
        for n, launch in enumerate(workload.low)
    )
    (folder / "low.hex").write_text(text)
    drawn = islice(distances(setting.seed, setting.distance), setting.count)
    (folder / "distances.txt").write_text("".join(f"{distance}\n" for distance in drawn))
    longest = max(launch.arguments for launch in (*workload.low, *workload.urgent))
    values = {
        "arrivals": setting.count,
        "seed": setting.seed,
        "report_time": setting.report_time,
        # A block is at most an eighth longer than its base length, and the fullest SM as many
        # times slower as full speed is quicker than its rate.
        "silence_limit": _SILENCE_LIMIT + 2 * longest * slowdown(config, setting.knee),
    }
    return values | ({} if setting.knee is None else {"knee": setting.knee})


def _word(launch: LaunchDescriptor, pairs: Counts, config: Config) -> int:
    """Return a launch with its pairs as it stands at the port."""
    packet = queue_packets.queued_launch(config)
    values = launch.values(config)
    for k, (stream, count) in enumerate(pairs):
        values |= {f"wait{k}_valid": 1, f"wait{k}_stream": stream}
        values[f"wait{k}_count"] = count % (1 << queue_packets.WAIT_BITS)
    return packet.pack({field.name: values.get(field.name, 0) for field in packet.present})


def _hold_words(held: Counts) -> str:
    """Return what the host holds a launch for, hexadecimal."""
    return " ".join(f"{word:x}" for word in (len(held), *(word for one in held for word in one)))


class BenchEvents:
    """The events of a run, read while the bench writes them.

    Parameters
    ----------
    folder : Path
        The run's folder.
    config : Config
        The configuration.
    """

    def __init__(self, folder: Path, config: Config):
        self._folder = folder
        self._files = {
            kind: EventFile(folder / f"{kind}.bin", packet)
            for kind, packet in event_packets(config).items()
        }
        for file in self._files.values():
            file.gives_back = True
        self._parts: dict[str, list[Table]] = {kind: [] for kind in self._files}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of events."""
        return tuple(self._files)

    def read(self) -> dict[str, Table]:
        """Return what was written since the last time, by kind, as far as it is not too much."""
        found = {kind: file.read() for kind, file in self._files.items()}
        return self._kept({kind: table for kind, table in found.items() if table is not None})

    def finish(self) -> dict[str, Table]:
        """Return the rest of what was written, once `read` has returned nothing.

        Raises
        ------
        ProgramError
            If a file is not whole.
        """
        return self._kept({kind: file.finish() for kind, file in self._files.items()})

    def _kept(self, tables: dict[str, Table]) -> dict[str, Table]:
        """Keep what `tables` gives away later."""
        for kind, table in tables.items():
            if kind not in _FORGOTTEN:
                types = _KEPT.get(kind, dict.fromkeys(table, np.uint64))
                small = {name: table[name].astype(type_) for name, type_ in types.items()}
                self._parts[kind].append(small)
        return tables

    def tables(self) -> dict[str, Table]:
        """Return all events that are kept, by kind."""
        return {kind: _joined(parts) for kind, parts in self._parts.items() if parts}

    def end(self) -> tuple[dict[str, int], str]:
        """Return the stall counters, and why the run was given up: "" if it came to its end."""
        path, packet = self._folder / "end.bin", end_packet()
        size = 8 * record_words(packet)
        data = path.read_bytes() if path.is_file() else b""
        if len(data) != size:
            raise ProgramError(f"event file {path.name} has {len(data)} bytes, not {size}")
        row = columns(np.frombuffer(data, "<u8").astype(np.uint64).reshape(1, -1), packet)
        silent = int(row["reason"][0]) == SILENT
        why = f"the RTL stands still in cycle {int(row['cycle'][0]):,}" if silent else ""
        return {name: int(row[name][0]) for name in STALLS}, why


def _joined(parts: Sequence[Mapping[str, np.ndarray]]) -> Table:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
