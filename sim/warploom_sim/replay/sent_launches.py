"""Whether the launches that the bench was given are those of the trace's file.

The file's kernels come from `recount`, the bench's launches from the file that the bench reads:
neither the reader nor the launches that it made are asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from warploom_sim.replay.recount import Kernel
from warploom_sim.traces.devices import Device
from warploom_spec import Config, queue_packets
from warploom_spec.host_commands import launch_words
from warploom_spec.resources import AMOUNT_FIELDS

#: The bench's file of launches, in the folder of its run.
LAUNCH_FILE: Final = "launches.hex"
#: Registers in a unit of a warp's registers, bytes in a unit of shared memory: written here again,
#: so that a wrong constant elsewhere is found.
_REGISTER_UNIT, _SHARED_UNIT = 256, 128


def demanded(
    kernels: Sequence[Kernel],
    config: Config,
    devices: Mapping[int, Device],
    priorities: Mapping[int, int] | None = None,
) -> Iterator[dict[str, int]]:
    """Give for each kernel of the file the fields that its launch must have.

    Parameters
    ----------
    kernels : sequence of Kernel
        In the order of their launches.
    config : Config
        Gives the warp size and the number of streams.
    devices : mapping of int to Device
        The recorded GPUs.
    priorities : mapping of int to int or None
        As for `differences`.
    """
    streams: dict[tuple[int, int], int] = {}
    for kernel in kernels:
        stream = streams.setdefault(kernel.queue, len(streams)) % 2**config.stream_bits
        device, (x, y, z) = devices[kernel.queue[0]], kernel.block
        registers = kernel.registers * config.warp_size
        bytes_ = kernel.shared_bytes + device.reserved_bytes
        lone = x * y * z <= device.warp_size
        yield {
            **dict(zip(("gx", "gy", "gz"), kernel.grid, strict=True)),
            **dict(zip(("dx", "dy", "dz"), kernel.block, strict=True)),
            **dict.fromkeys(AMOUNT_FIELDS, 0),
            "warp_registers": -(-registers // _REGISTER_UNIT),
            "shared": -(-bytes_ // _SHARED_UNIT),
            "barriers": device.lone_barriers if lone else 1,
            "stream": stream,
            "priority": (priorities or {}).get(stream, 0),
            "mode": 0,
        }


def given(path: Path, config: Config, host: str) -> Iterator[Mapping[str, int]]:
    """Give the fields of each launch in the bench's file.

    Parameters
    ----------
    path : Path
        The file: a line a launch, its launch or the words of its task register last.
    config : Config
        Decides the layout.
    host : str
        Who sends the launches, as a request says it. With ``axi`` words of the task register.
    """
    with path.open() as lines:
        for line in lines:
            word = int(line.split()[-1], 16)
            if host == "axi":
                layout = launch_words(config)
                words = [word >> 32 * k & 0xFFFF_FFFF for k in range(layout.words)]
                yield layout.unpack(words)
            else:
                yield queue_packets.queued_launch(config).unpack(word)


def differences(
    path: Path,
    kernels: Sequence[Kernel],
    config: Config,
    devices: Mapping[int, Device],
    host: str = "direct",
    priorities: Mapping[int, int] | None = None,
) -> list[str]:
    """Return in words the first launch that the bench was given otherwise than the trace has it.

    Parameters
    ----------
    path : Path
        The bench's file of launches.
    kernels : sequence of Kernel
        The file's kernels in the order of their launches, those alone that are to be launched.
    config : Config
        What the bench was generated from.
    devices : mapping of int to Device
        The recorded GPUs.
    host : str
        As for `given`.
    priorities : mapping of int to int or None
        The priorities that streams were given, by their numbers in the replay.
    """
    sent = list(given(path, config, host))
    if len(sent) != len(kernels):
        return [f"the bench was given {len(sent):,} launches instead of {len(kernels):,}"]
    pairs = zip(sent, demanded(kernels, config, devices, priorities), strict=True)
    for number, (got, wanted) in enumerate(pairs):
        wrong = [
            f"{name} {got[name]:,} instead of {value:,}"
            for name, value in wanted.items()
            if got[name] != value
        ]
        if wrong:
            return [
                f"launch {number} (event {kernels[number].event}): the bench was given"
                f" {', '.join(wrong)}"
            ]
    return []
