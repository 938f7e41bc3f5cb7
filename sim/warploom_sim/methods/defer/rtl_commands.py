"""What the C driver in front of the RTL is to do, as `driver_host.cpp` reads it."""

from collections.abc import Iterator, Sequence
from typing import Final

from warploom_golden.deferral.trace_loops import TraceLoops
from warploom_spec import Config
from warploom_spec.host_commands import (
    FIRST_RELATIVE_FLAG,
    TASK_WORDS,
    WAIT_WORDS,
    launch_words,
    template_words,
)

#: Fields of ``warploom_launch`` before its inline words.
_FIELDS: Final = (
    "code",
    "arguments",
    "address_space",
    "stream",
    "priority",
    "idempotent",
    "mode",
    "quiet",
    "gx",
    "gy",
    "gz",
    "dx",
    "dy",
    "dz",
    "index_address",
    "table",
    "warp_registers",
    "shared",
    "barriers",
)


def folded_lines(folded: TraceLoops, config: Config) -> Iterator[str]:
    """Give the lines of a folded trace: LOOPs with their templates, and single launches."""
    launches = iter(folded.launches)
    for sent in folded.sent:
        run = sent.run
        own = [next(launches) for _ in range(run.body * run.count)]
        if sent.first_slot is None:
            yield from (_launch_line(words, config) for words in own)
            continue
        for place, words in enumerate(sent.templates):
            yield _template_line((sent.first_slot + place) % config.loop_templates, words, config)
        yield f"O {sent.first_slot} {run.body} {run.count}\n"


def single_lines(folded: TraceLoops, config: Config) -> Iterator[str]:
    """Give the lines of the same launches, one by one."""
    return (_launch_line(words, config) for words in folded.launches)


def _launch_line(words: Sequence[int], config: Config) -> str:
    return f"L {_launch(launch_words(config).unpack(words), config)}\n"


def _template_line(slot: int, words: Sequence[int], config: Config) -> str:
    first = template_words(config).unpack(words[:TASK_WORDS])
    # What a field steps by stands where the field stands, in the second half.
    by = launch_words(config).unpack(words[TASK_WORDS:])
    steps = (
        first["changes"] & ~first["alternates"],
        first["alternates"],
        *(by[name] for name in ("gx", "gy", "gz", "arguments")),
        *_inline(by, config),
    )
    return f"T {slot} {_launch(first, config)} {_joined(steps)}\n"


def _launch(fields: dict[str, int], config: Config) -> str:
    flags = fields["flags"]
    pairs = (
        (fields[f"wait{k}_stream"], fields[f"wait{k}_count"], flags >> FIRST_RELATIVE_FLAG + k & 1)
        for k in range(WAIT_WORDS)
    )
    waits = (flags & (1 << WAIT_WORDS) - 1).bit_count()
    numbers = (
        *(fields[name] for name in _FIELDS),
        *_inline(fields, config),
        waits,
        *(number for pair in pairs for number in pair),
    )
    return _joined(numbers)


def _inline(fields: dict[str, int], config: Config) -> Iterator[int]:
    return (fields[f"inline{k}"] for k in range(config.inline_args))


def _joined(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))
