"""The replay's waveform: its times, the wires that show packets field by field, a saved view.

pyvcd, which Amaranth brings along, writes the view in GTKWave's format.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vcd.gtkw import GTKWSave

from warploom_sim.replay.bench.records import STALLS, run_summary
from warploom_sim.replay.request import ReplayRequest
from warploom_spec import Config, Packet, WarploomError, layouts, queue_packets, resident_packets
from warploom_spec.launch import AXIS_FIELDS

#: Cycles with ``rst`` before cycle 0.
RESET_CYCLES: Final = 4
#: Time steps of a cycle.
STEPS: Final = 2
#: Where the bench's signals are, by the simulator.
SCOPES: Final = {"verilator": "TOP.bench", "icarus": "clock.bench"}
#: SMs whose groups are open when the view is.
OPEN_SMS: Final = 4


@dataclass(frozen=True)
class Shown:
    """A signal of the bench in the view."""

    name: str
    bits: int = 1

    @property
    def in_waveform(self) -> str:
        """Its name in the waveform, with the range of its bits."""
        return self.name if self.bits == 1 else f"{self.name}[{self.bits - 1}:0]"


@dataclass(frozen=True)
class Fields:
    """The fields of a packet at a port that the view shows, each as a wire of its own."""

    port: str
    packet: Packet
    names: tuple[str, ...]

    def wires(self) -> Iterator[str]:
        """Give the Verilog of the wires; a field without bits has none."""
        bits = {field.name: field.bits for field in self.packet.fields}
        for shown, name in zip(self.shown(), self._names(), strict=True):
            width = "" if shown.bits == 1 else f"[{shown.bits - 1}:0] "
            part = f"{self.port}[{self.packet.offsets[name]} +: {bits[name]}]"
            yield f"  wire {width}{shown.name} = {part};"

    def shown(self) -> list[Shown]:
        """Return the wires."""
        bits = {field.name: field.bits for field in self.packet.fields}
        return [Shown(f"{self.port}__{name}", bits[name]) for name in self._names()]

    def _names(self) -> list[str]:
        bits = {field.name: field.bits for field in self.packet.fields}
        return [name for name in self.names if bits[name]]


def times(cycles: tuple[int, int]) -> tuple[int, int]:
    """Return the time step at which the first of some cycles begins, and at which the last ends."""
    first, last = cycles
    # The clock rises at odd steps.
    return (STEPS * (RESET_CYCLES + first) - 1, STEPS * (RESET_CYCLES + last + 1) - 1)


def view(config: Config) -> dict[str, list[Shown | Fields]]:
    """Return what the view shows, by the names of its groups."""
    launch = ("code", *AXIS_FIELDS, "warp_registers", "shared", "stream", "priority", "mode")
    descriptor, answer = queue_packets.queued_launch(config), queue_packets.queue_answer(config)
    start = ("stream", "priority", "wait_mode", "entry")
    block = ("stream", "slot", "bx", "by", "bz", "block_number")
    words = ("ticket", "code", "gx", "gy", "gz", "warps")
    groups: dict[str, list[Shown | Fields]] = {
        "cycle": [Shown("cycle", 64), Shown("rst")],
        "launch": [
            *(Shown(name) for name in ("launch__valid", "launch__ready", "records_left")),
            Shown("room", 1 << config.priority_bits),
            Fields("launch__payload", descriptor, launch),
        ],
        "answer": [Fields("answer", answer, ("valid", "ticket", "code", "argument"))],
        "starts": [
            Shown("started_valid"),
            Fields("started", resident_packets.resident_start(config), start),
        ],
        "offers": [
            Shown("offer", config.sms),
            Fields("block", resident_packets.resident_block(config), block),
            Fields("words", layouts.launch_words(config), words),
        ],
    }
    for sm in range(config.sms):
        report = f"report__{sm}"
        groups[f"SM {sm}"] = [
            Shown(f"{report}__valid"),
            Shown(f"{report}__ready"),
            Fields(f"{report}__payload", layouts.block_report(config), ("slot", "status")),
        ]
    groups |= _queue_groups(config)
    return groups | {
        "lost SMs": [Shown("lost", config.sms)],
        "stalls": [Shown(name, 32) for name in STALLS],
    }


def _queue_groups(config: Config) -> dict[str, list[Shown | Fields]]:
    """Return what there is of aborts, kills, timelines and records."""
    return {
        "abort and kill": [
            *(Shown(name) for name in ("abort__valid", "abort__ready")),
            Fields("abort__payload", queue_packets.launch_abort(config), ("ticket",)),
            Shown("kill", 1 << config.stream_bits),
            Fields("killed", queue_packets.queue_stream(config), ("valid", "stream")),
        ],
        "timelines": [
            Fields("timeline", queue_packets.timeline_step(config), ("valid", "stream", "count"))
        ],
        "words of final records": [
            Fields(
                "record", resident_packets.record_word(config), ("valid", "last", "word", "data")
            )
        ],
    }


def wires(config: Config) -> Iterator[str]:
    """Give the Verilog of the wires that only a waveform needs."""
    yield "`ifdef WAVES"
    for group in view(config).values():
        for part in group:
            if isinstance(part, Fields):
                yield from part.wires()
    yield "`endif"


def signals(config: Config) -> Mapping[str, list[Shown]]:
    """Return the view's signals, by the names of its groups."""
    return {
        name: [
            shown
            for part in group
            for shown in (part.shown() if isinstance(part, Fields) else [part])
        ]
        for name, group in view(config).items()
    }


def check_reached(folder: Path, cycles: tuple[int, int]) -> None:
    """Refuse a waveform's cycles that a run did not come to.

    Raises
    ------
    WarploomError
        Says in which cycle the run ended.
    """
    last = int(run_summary(folder / "end.bin")["cycle"][0])
    if cycles[0] > last:
        raise WarploomError(
            f"wave_cycles is {cycles[0]}:{cycles[1]}, but the run ends in cycle {last}; legal: from"
            f" 0 to {last}"
        )


def save_view(waveform: Path, config: Config, request: ReplayRequest) -> Path:
    """Write the view of a replay's waveform beside it, and return its file."""
    path = waveform.with_suffix(".gtkw")
    start = times(request.wave_cycles)[0] if request.wave_cycles else 0
    assert request.simulator
    write_view(path, waveform, config, request.simulator, start)
    return path


def write_view(path: Path, waveform: Path, config: Config, simulator: str, start: int) -> None:
    """Write a saved view for GTKWave.

    Parameters
    ----------
    path : Path
        The view.
    waveform : Path
        Beside it.
    config : Config
        Of the replay.
    simulator : str
        That wrote the waveform.
    start : int
        Time step that the view begins with.
    """
    with path.open("w") as file:
        save = GTKWSave(file)
        save.dumpfile(waveform.name, abspath=False)
        save.timestart(start)
        # GTKWave shows 2^-zoom of its units a pixel: some dozen cycles across a window.
        save.zoom_markers(-2.0)
        save.size(1600, 1000)
        save.signals_width(320)
        for name, group in signals(config).items():
            closed = name.startswith("SM ") and int(name.split()[1]) >= OPEN_SMS
            with save.group(name, closed=closed):
                for shown in group:
                    save.trace(
                        f"{SCOPES[simulator]}.{shown.in_waveform}",
                        alias=shown.name,
                        datafmt="bin" if shown.name in ("offer", "kill", "lost") else "dec",
                    )
