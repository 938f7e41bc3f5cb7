"""From a trace to launches: streams, addresses, resources, base lengths, and what is refused."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tb.support.trace_files import document, write
from warploom_sim.traces import trace_launches, trace_reader
from warploom_sim.traces.kernel_launch import KernelLaunch
from warploom_sim.traces.trace_launches import make_launches, resident_blocks
from warploom_sim.traces.trace_reader import Trace
from warploom_spec import WarploomError, preset

DEFAULT = preset("default")
SCALE = Fraction(1, 32)


def trace_with(folder: Path, **fields: Any) -> Trace:
    """Return a trace of one kernel, with these fields of the launch replaced."""
    content = document()
    content["traceEvents"] = [content["traceEvents"][0], content["traceEvents"][2]]
    trace = trace_reader.load(write(folder, content))
    return replace(trace, launches=(replace(trace.launches[0], **fields),))


def kernel(trace: Trace) -> KernelLaunch:
    return trace.launches[0]


@pytest.mark.parametrize(
    ("fields", "blocks"),
    [
        ({"block": (32, 1, 1)}, 32),  # block slots
        ({"block": (1024, 1, 1)}, 2),  # 64 warps
        ({"block": (256, 1, 1)}, 8),
        ({"block": (257, 1, 1)}, 7),  # 9 warps each
        ({"block": (256, 1, 1), "registers": 64}, 4),  # 65,536 registers
        ({"block": (256, 1, 1), "registers": 65}, 3),  # a warp's count in units of 256
        ({"block": (32, 1, 1), "shared_bytes": 100_000}, 2),  # 233,472 bytes, 1,024 reserved
        ({"block": (32, 1, 1), "shared_bytes": 232_448}, 1),
        ({"block": (32, 1, 1), "shared_bytes": 232_449}, 0),
        ({"block": (0, 1, 1), "registers": 0}, 32),
    ],
)
def test_blocks_that_were_resident_on_an_h200(
    tmp_path: Path, fields: dict[str, Any], blocks: int
) -> None:
    trace = trace_with(tmp_path, **{"registers": 0, "shared_bytes": 0} | fields)
    assert resident_blocks(kernel(trace), trace.devices[0]) == blocks


@pytest.mark.parametrize(
    ("duration", "blocks", "scale", "cycles"),
    [
        (5.0, 1, SCALE, 309),  # 9,900 / 32 = 309.4
        (5.0, 132 * 8, SCALE, 309),  # one full wave
        (5.0, 132 * 8 + 1, SCALE, 155),  # two waves
        (5.0, 132 * 8 * 10, SCALE, 31),
        (0.0, 1, SCALE, 4),  # never below
        (5.0, 1, Fraction(1), 9900),
        (0.02, 1, Fraction(125, 99), 50),  # 39.6 x 125 / 99 = 50
    ],
)
def test_base_length(
    tmp_path: Path, duration: float, blocks: int, scale: Fraction, cycles: int
) -> None:
    trace = trace_with(tmp_path, duration=duration, grid=(blocks, 1, 1), block=(256, 1, 1))
    assert trace_launches.base_length(trace, kernel(trace), scale) == cycles


def test_a_descriptor_says_what_the_trace_says(tmp_path: Path) -> None:
    trace = trace_with(tmp_path, registers=40, shared_bytes=4224, block=(32, 4, 2))
    (launch,) = make_launches(trace, DEFAULT, SCALE)
    assert (launch.grid, launch.block) == ((4, 2, 1), (32, 4, 2))
    assert (launch.warp_registers, launch.shared, launch.barriers) == (5, 41, 1)
    assert (launch.code, launch.arguments) == (0, 309)
    assert (launch.stream, launch.priority) == (0, 0)


def test_streams_are_numbered_by_first_launch_and_wrap(tmp_path: Path) -> None:
    trace = trace_with(tmp_path)
    streams = [31, 7, 31, *range(100, 115), 7]
    many = replace(trace, launches=tuple(replace(kernel(trace), stream=n) for n in streams))
    numbers = [launch.stream for launch in make_launches(many, DEFAULT, SCALE)]
    # 17 streams on 16: the last new one shares stream 0.
    assert numbers == [0, 1, 0, *range(2, 16), 0, 1]


def test_the_same_stream_number_on_two_devices_is_two_streams(tmp_path: Path) -> None:
    trace = trace_with(tmp_path)
    second = replace(kernel(trace), device=1)
    both = replace(
        trace,
        devices={0: trace.devices[0], 1: trace.devices[0]},
        launches=(kernel(trace), second),
    )
    assert [launch.stream for launch in make_launches(both, DEFAULT, SCALE)] == [0, 1]


def test_a_shape_gets_an_address_of_its_own_when_it_comes_again(tmp_path: Path) -> None:
    trace = trace_with(tmp_path)
    shapes = [(128, 1, 1), (64, 1, 1), (128, 1, 1), (64, 1, 1), (128, 1, 1)]
    many = replace(trace, launches=tuple(replace(kernel(trace), block=b) for b in shapes))
    addresses = [launch.index_address for launch in make_launches(many, DEFAULT, SCALE)]
    assert addresses == [0, 0, 32, 36, 32]


@pytest.mark.parametrize("block", [(0, 1, 1), (1024, 2, 1)])
def test_a_shape_that_is_refused_later_gets_the_shared_address(
    tmp_path: Path, block: tuple[int, int, int]
) -> None:
    trace = trace_with(tmp_path, block=block, registers=0)
    (launch,) = make_launches(trace, DEFAULT, SCALE)
    assert launch.index_address == 0


def test_only_the_first_launches_are_made(tmp_path: Path) -> None:
    trace = trace_reader.load(write(tmp_path, document()))
    assert len(make_launches(trace, DEFAULT, SCALE, 1)) == 1
    assert len(make_launches(trace, DEFAULT, SCALE, 99)) == 2


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"grid": (1, 65_536, 1)}, "launch_descriptor.gy is 65536; legal: 0 to 65535"),
        ({"block": (2048, 1, 1)}, "launch_descriptor.dx is 2048; legal: 0 to 2047"),
        ({"registers": 4096}, "launch_descriptor.warp_registers is 512; legal: 0 to 511"),
        ({"shared_bytes": 262_144}, "launch_descriptor.shared is 2056; legal: 0 to 2047; it"),
        (
            {"registers": 300, "block": (1024, 1, 1)},
            "not one block fits an SM of the recorded NVIDIA H200: grid (4, 2, 1), block"
            " (1024, 1, 1), 300 registers a thread, 0 bytes of shared memory",
        ),
        ({"duration": 1.1e6}, "'dur' is 1100000.0, 68062500 cycles a block at time scale 1/32"),
    ],
)
def test_what_is_refused(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    trace = trace_with(tmp_path, **fields)
    with pytest.raises(WarploomError) as caught:
        make_launches(trace, DEFAULT, SCALE)
    assert str(caught.value).startswith(f'{trace.path}: event 1 ("kernel1"): {message}')
