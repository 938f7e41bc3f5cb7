"""A launch as words of the task register."""

from collections.abc import Sequence
from typing import NamedTuple

from warploom_spec.config import Config
from warploom_spec.errors import WarploomError
from warploom_spec.host_commands import (
    FIRST_RELATIVE_FLAG,
    INLINE_WORD,
    STEP_WORD,
    WAIT_WORDS,
    Opcode,
    launch_words,
)
from warploom_spec.launch import LaunchDescriptor
from warploom_spec.queue_packets import FIRST_WAIT_WORD, WAIT_BITS


class Relative(NamedTuple):
    """A pair that waits for the launch so many before the latest accepted one of a stream."""

    stream: int
    back: int


#: What a launch waits for: so many launches of a stream, or a relative pair.
Wait = tuple[int, int] | Relative


def wait_latest(stream: int, back: int = 0) -> Relative:
    """Return the pair that waits for a stream's latest accepted launch, or ``back`` before it."""
    return Relative(stream, back)


class LaunchWords:
    """Makes the words of launches.

    Parameters
    ----------
    config : Config
        The core's configuration.
    """

    def __init__(self, config: Config):
        self._config = config
        self._layout = launch_words(config)

    def pack(
        self, launch: LaunchDescriptor, waits: Sequence[Wait] = (), quiet: bool = False
    ) -> list[int]:
        """Return all words of a launch.

        Raises
        ------
        WarploomError
            If a value fits no field, or the launch needs loops and there are none.
        """
        if len(waits) > self._config.launch_waits:
            most = self._config.launch_waits
            raise WarploomError(f"the launch waits for {len(waits)} pairs; legal: 0 to {most}")
        relative = [isinstance(pair, Relative) for pair in waits]
        if (quiet or any(relative)) and not self._config.has_loops:
            raise WarploomError("a quiet launch or a relative pair needs loops; there are none")
        flags = (1 << len(waits)) - 1
        flags |= sum(one << FIRST_RELATIVE_FLAG + k for k, one in enumerate(relative))
        given = {"opcode": int(Opcode.LAUNCH), "flags": flags, "parameter": 0}
        given |= dict(zip(("gx", "gy", "gz"), launch.grid, strict=True))
        given |= dict(zip(("dx", "dy", "dz"), launch.block, strict=True))
        given |= _pairs(waits)
        given |= {f"inline{n}": value for n, value in enumerate(launch.inline)}
        given |= {"quiet": int(quiet)} if self._config.has_loops else {}
        names = self._layout.by_name
        rest = {name: int(getattr(launch, name, 0)) for name in names if name not in given}
        return list(self._layout.pack(given | rest))

    def written(self, waits: int) -> list[int]:
        """Return the numbers of the words that are written where none is known: the first ones."""
        inline = INLINE_WORD + 2 * self._config.inline_args
        return list(range(FIRST_WAIT_WORD + waits if waits else inline))

    def read(self, waits: int) -> list[int]:
        """Return the numbers of the words that a launch with so many pairs is read from."""
        inline = range(INLINE_WORD, INLINE_WORD + 2 * self._config.inline_args)
        return [*range(STEP_WORD), *inline, *range(FIRST_WAIT_WORD, FIRST_WAIT_WORD + waits)]


def _pairs(waits: Sequence[Wait]) -> dict[str, int]:
    """Return the fields of the pairs that a launch waits for, and of those that do not count."""
    fields: dict[str, int] = {}
    for k, (stream, count) in enumerate([*waits, *[(0, 0)] * (WAIT_WORDS - len(waits))]):
        fields |= {f"wait{k}_stream": stream, f"wait{k}_count": count % (1 << WAIT_BITS)}
    return fields
