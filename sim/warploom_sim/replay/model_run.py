"""Child process: runs the golden event model of a replay.

It is given trace, configuration and seed, and writes what the model expects. It knows nothing of
the RTL's run, not even where that writes; but where a host rings doorbells, in which cycles its
launches transferred.
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
    #: File of the cycles in which a host's launches transferred, 64 bits each.
    transfers: Path | None = None

    def to_json(self) -> str:
        """Return the job as text."""
        job: dict[str, Any] = {"trace": str(self.request.trace), "config": asdict(self.config)}
        job |= {"request": told(self.request)}
        return json.dumps(job | ({"transfers": str(self.transfers)} if self.transfers else {}))

    @classmethod
    def from_json(cls, text: str) -> "ModelJob":
        """Return the job that was written as text."""
        job = json.loads(text)
        transfers = job.get("transfers")
        return cls(
            request=ReplayRequest(traces=(Path(job["trace"]),), **job["request"]),
            config=config_of(job["config"]),
            transfers=Path(transfers) if transfers else None,
        )

    def run(self) -> Iterator[Piece]:
        """Yield what the model expects, in pieces."""
        request = self.request
        trace = trace_reader.load(
            request.trace, device=request.device, strict=False, gpu=request.recorded_gpu
        )
        launches = launches_of(trace, self.config, request)
        transfers = None
        if self.transfers:
            transfers = np.fromfile(self.transfers, "<u8").tolist()
        arrivals = arrivals_of(trace, request)
        waits = None if transfers else waits_of(trace, launches, self.config, request)
        return event_pieces(launches, self.config, request, arrivals, transfers, waits=waits)


def config_of(fields: Mapping[str, Any]) -> Config:
    """Return the configuration whose fields were written as JSON."""
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
    return Config(**values)


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
