"""What the user asked of a replay: one field for each option, and nothing about it elsewhere."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from warploom_sim.cosim.simulators import SIMULATORS
from warploom_sim.replay.option_kinds import (
    CycleRange,
    Flag,
    NewFile,
    Priorities,
    RecordedGpu,
    Scale,
    Settings,
    Text,
    Whole,
    Word,
)
from warploom_sim.replay.request_fields import Role, Surface, option, options, refuse_given, settle
from warploom_sim.traces.devices import Device
from warploom_sim.traces.gpus import Gpu
from warploom_spec import PRESETS, WarploomError
from warploom_spec.config import POLICIES, RECLAIMS

#: Whether the blocks of an SM slow each other down: on a GPU they do.
CONTENTIONS: Final = ("none", "sharing")
#: Policies of IndexMemoryAllocator, the default first.
ALLOCATORS: Final = ("frequent", "shared", "own")
#: When launches arrive: all at once, or at the recorded times of their calls.
ARRIVALS: Final = ("none", "trace")
#: Whether launches wait for the events that they waited for in the recording.
EVENTS: Final = ("keep", "ignore")
#: Beside the presets: the GPU that the trace was recorded on.
RECORDED: Final = "recorded"
#: Who sends the launches: a source at LaunchPath, or a host over AXI4-Lite at FrontEnd.
HOSTS: Final = ("direct", "axi")
#: Warps that an SM runs at full speed: about the knee of dependent arithmetic on an H200.
DEFAULT_KNEE: Final = 16
#: More than the warps of any SM.
MOST_KNEE: Final = 65_535
#: Seeds are words of 32 bits.
HIGHEST_SEED: Final = 2**32 - 1

_NO_WAVES: Final = "warploom sim --waves writes waveforms"
_NO_FILES: Final = "it returns the result and writes no file"
_ONE_RUN: Final = "warploom sim writes the files of one run"


@dataclass(frozen=True, kw_only=True)
class ReplayRequest:
    """All options of a replay, checked: every value is legal.

    A field is everything that there is to say of an option: `warploom sim`, `warploom compare` and
    `warploom_sim.replay` take it, JSON has it, a kept result is named by it, and workers get it.

    Attributes
    ----------
    traces : tuple of Path
        Recordings to replay, in this order.
    """

    traces: tuple[Path, ...]
    simulator: str | None = option(
        "--sim",
        Word(SIMULATORS),
        "Simulator that runs the RTL.",
        SIMULATORS[0],
        role=Role.ENGINE,
        needs=("rtl", True),
        always=True,
    )
    config: str = option(
        "--config",
        Word((*PRESETS, RECORDED)),
        "Preset of the hardware, or the recorded GPU.",
        "default",
        defaults=dict.fromkeys((Surface.COMPARE, Surface.PYTHON), RECORDED),
        role=Role.CONFIG,
        always=True,
    )
    settings: tuple[str, ...] = option(
        "--set",
        Settings(),
        "Change a field of the preset, such as sms=4; may be given more than once.",
        (),
        role=Role.CONFIG,
        key="set",
    )
    policy: str | None = option(
        "--policy", Word(POLICIES), "Placement policy instead of the preset's.", role=Role.CONFIG
    )
    reclaim: str | None = option(
        "--reclaim", Word(RECLAIMS), "Reclaim policy instead of the preset's.", role=Role.CONFIG
    )
    time_scale: Fraction = option(
        "--time-scale",
        Scale(),
        "Block lengths are the recorded ones times this.",
        Fraction(1, 32),
        defaults={Surface.COMPARE: Fraction(1), Surface.PYTHON: Fraction(1)},
        always=True,
    )
    contention: str = option(
        "--contention",
        Word(CONTENTIONS),
        "Whether the blocks of an SM slow each other down.",
        "sharing",
        always=True,
    )
    knee: int | None = option(
        "--knee",
        Whole(1, MOST_KNEE),
        "With contention sharing: warps that an SM runs at full speed.",
        DEFAULT_KNEE,
        needs=("contention", "sharing"),
        plusarg=True,
    )
    arrivals: str = option(
        "--arrivals",
        Word(ARRIVALS),
        "Whether launches arrive at the recorded times of their calls, or one after the other.",
        ARRIVALS[0],
    )
    events: str = option(
        "--events",
        Word(EVENTS),
        "Whether launches wait for the events that they waited for in the recording.",
        EVENTS[0],
    )
    priorities: tuple[str, ...] = option(
        "--priority",
        Priorities(),
        "Priority of a stream, streams numbered in order of appearance; the others' are 0. May be"
        " given more than once.",
        (),
        key="priority",
    )
    allocator: str = option(
        "--allocator",
        Word(ALLOCATORS),
        "Which kernels get an address of their own in the index memory: from their second launch"
        " on, none, all.",
        ALLOCATORS[0],
        role=Role.SOFTWARE,
    )
    kill_every: int | None = option(
        "--kill-every",
        Whole(1),
        "Kill launches N, 2N, ... (the first is launch 0), each after a seeded number of blocks.",
        plusarg=True,
    )
    launches: int | None = option(
        "--launches",
        Whole(1),
        "Only the first N launches of each trace.",
        key="first",
        unset="all",
    )
    seed: int = option(
        "--seed",
        Whole(0, HIGHEST_SEED),
        "Seed of the jitter of the block lengths, and of kills.",
        1,
        plusarg=True,
        always=True,
    )
    device: int | None = option(
        "--device", Whole(0), "Only the kernels of GPU N of each trace.", unset="all"
    )
    gpu: Gpu | None = option(
        "--gpu",
        RecordedGpu(),
        "The recorded GPU of a trace that does not describe it.",
        unset="the trace's",
    )
    host: str = option(
        "--host",
        Word(HOSTS),
        "Whether a source sends the launches, or a host rings doorbells over AXI4-Lite.",
        HOSTS[0],
        role=Role.ENGINE,
        refused={Surface.COMPARE: "its runs have no host"},
    )
    rtl: bool = option(
        "--rtl",
        Flag(),
        "Run the RTL as well, every event compared.",
        False,
        role=Role.CHECK,
        defaults={Surface.SIM: True},
        refused={Surface.SIM: "it always runs the RTL"},
    )
    strict: bool = option(
        "--strict",
        Flag(),
        "Refuse a trace with kernels of which something is not recorded, with times that cannot"
        " be, or with event waits that are not kept.",
        False,
        role=Role.CHECK,
    )
    forced_fault: str | None = option(
        "--forced-fault",
        Text(),
        "Plant a fault, to see it found.",
        role=Role.CHECK,
        hidden=True,
        refused=dict.fromkeys((Surface.COMPARE, Surface.PYTHON), "warploom sim plants faults"),
    )
    waves: bool = option(
        "--waves",
        Flag(),
        "Also write a waveform, and a view for GTKWave.",
        False,
        role=Role.OUTPUT,
        refused=dict.fromkeys((Surface.COMPARE, Surface.PYTHON), _NO_WAVES),
    )
    wave_cycles: tuple[int, int] | None = option(
        "--wave-cycles",
        CycleRange(),
        "With --waves: write cycles A to B alone.",
        role=Role.OUTPUT,
        needs=("waves", True),
        refused=dict.fromkeys((Surface.COMPARE, Surface.PYTHON), _NO_WAVES),
    )
    json: Path | None = option(
        "--json",
        NewFile(),
        "Also write all figures to FILE.",
        role=Role.OUTPUT,
        refused={Surface.PYTHON: _NO_FILES},
    )
    launches_csv: Path | None = option(
        "--launches-csv",
        NewFile(),
        "Also write a row for each launch to FILE.",
        role=Role.OUTPUT,
        refused={Surface.COMPARE: _ONE_RUN, Surface.PYTHON: _NO_FILES},
    )
    timeline: Path | None = option(
        "--timeline",
        NewFile(),
        "Also write a timeline to FILE, which ui.perfetto.dev opens.",
        role=Role.OUTPUT,
        refused={Surface.COMPARE: _ONE_RUN, Surface.PYTHON: _NO_FILES},
    )
    report: Path | None = option(
        "--report",
        NewFile(),
        "Also write a report to FILE: one HTML page with charts and tables.",
        role=Role.OUTPUT,
        refused={Surface.PYTHON: _NO_FILES},
    )

    def __post_init__(self) -> None:
        """Check every field, and those that do not go together.

        Raises
        ------
        WarploomError
            If a value is not legal; names field, value and the legal ones.
        """
        settle(self)
        if self.host == "axi":
            self._check_host()

    def _check_host(self) -> None:
        """Refuse what a host does not do."""
        if not self.rtl:
            raise WarploomError("host is axi without the RTL; legal: direct")
        if self.kill_every is not None:
            raise WarploomError(f"host is axi with kill_every {self.kill_every}; legal: direct")
        if self.arrivals != "none":
            raise WarploomError(f"host is axi with arrivals {self.arrivals}; legal: direct")

    @property
    def keeps_waits(self) -> bool:
        """Whether event waits are kept, as far as they are known."""
        return self.events == "keep"

    @property
    def trace(self) -> Path:
        """The recording, of a request for one."""
        (only,) = self.traces
        return only

    @property
    def recorded_gpu(self) -> Device | None:
        """The GPU that stands in for what a trace does not describe."""
        return self.gpu.device if self.gpu else None

    def of(self, trace: Path) -> "ReplayRequest":
        """Return the request for one trace."""
        return dataclasses.replace(self, traces=(trace,))


def requested(
    surface: Surface, traces: tuple[Path, ...], given: Mapping[str, Any]
) -> ReplayRequest:
    """Return the request of a surface that was given some of the fields.

    Raises
    ------
    WarploomError
        If a value is not legal, or the surface cannot do it.
    """
    found = options(ReplayRequest)
    rtl = given.get("rtl", found["rtl"].default_of(surface))
    others = {name: one.default_of(surface, rtl=rtl) for name, one in found.items()}
    request = ReplayRequest(traces=traces, **others | dict(given))
    refuse_given(ReplayRequest, surface, {name: (value,) for name, value in given.items()})
    return request
