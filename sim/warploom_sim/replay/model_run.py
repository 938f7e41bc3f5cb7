"""Child process: runs the golden event model of a replay.

It is given trace, configuration and seed, and writes what the model expects. It knows nothing of
the RTL's run, not even where that writes; but where a host rings doorbells, in which cycles its
launches transferred, and in which it popped records.
"""

import io
import json
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from warploom_golden.replay.event_model import Events, Piece
from warploom_golden.replay.event_tables import Table
from warploom_golden.replay.host_source import HostCycles
from warploom_sim.replay.model_input import arrivals_of, event_pieces, launches_of, waits_of
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.replay.request_fields import told
from warploom_sim.traces import trace_reader
from warploom_spec import Config

_HEAD: Final = struct.Struct("<QQ")


@dataclass(frozen=True, kw_only=True)
class ModelJob:
    """All that the model may know."""

    #: With the options that the model may know; all others are those of no request.
    request: ReplayRequest
    config: Config
    #: File of when a host sent launches and popped records.
    host_cycles: Path | None = None

    def to_json(self) -> str:
        """Return the job as text."""
        job: dict[str, Any] = {"trace": str(self.request.trace), "config": asdict(self.config)}
        job |= {"request": told(self.request)}
        return json.dumps(job | ({"host": str(self.host_cycles)} if self.host_cycles else {}))

    @classmethod
    def from_json(cls, text: str) -> "ModelJob":
        """Return the job that was written as text."""
        job = json.loads(text)
        host = job.get("host")
        return cls(
            request=ReplayRequest(traces=(Path(job["trace"]),), **job["request"]),
            config=config_of(job["config"]),
            host_cycles=Path(host) if host else None,
        )

    def run(self) -> Iterator[Piece]:
        """Yield what the model expects, in pieces."""
        request = self.request
        trace = trace_reader.load(
            request.trace, device=request.device, strict=False, gpu=request.recorded_gpu
        )
        launches = launches_of(trace, self.config, request)
        arrivals = arrivals_of(trace, request)
        waits = waits_of(trace, launches, self.config, request)
        host = read_host_cycles(self.host_cycles) if self.host_cycles else None
        return event_pieces(launches, self.config, request, waits, arrivals, host)


def config_of(fields: Mapping[str, Any]) -> Config:
    """Return the configuration whose fields were written as JSON."""
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
    return Config(**values)


def read_host_cycles(path: Path) -> HostCycles:
    """Read from a NumPy archive when a host sent launches and popped records."""
    with np.load(path) as archive:
        return HostCycles(archive["sent"].tolist(), archive["pops"].tolist())


def write_piece(piece: Piece, file: IO[bytes]) -> None:
    """Write a piece: two numbers of 64 bits, its end and its size, and a NumPy archive."""
    arrays: dict[str, Any] = {
        f"{kind}.{name}": column
        for kind, table in piece.events.tables.items()
        for name, column in table.items()
    }
    packed = io.BytesIO()
    np.savez(packed, stalls=np.array(json.dumps(piece.events.stalls)), **arrays)
    file.write(_HEAD.pack(piece.until, packed.tell()))
    file.write(packed.getbuffer())
    file.flush()


def read_piece(file: IO[bytes]) -> Piece | None:
    """Read what `write_piece` wrote; None if the file ends, or breaks off."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    until, size = _HEAD.unpack(head)
    data = file.read(size)
    if len(data) < size:
        return None
    tables: dict[str, Table] = {}
    with np.load(io.BytesIO(data)) as archive:
        for key in archive.files:
            if key != "stalls":
                kind, name = key.split(".")
                tables.setdefault(kind, {})[name] = archive[key]
        return Piece(Events(tables, json.loads(str(archive["stalls"]))), until)


if __name__ == "__main__":
    for one in ModelJob.from_json(sys.argv[1]).run():
        write_piece(one, sys.stdout.buffer)
