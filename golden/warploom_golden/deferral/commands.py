"""From the message to the core: a group becomes templates and one LOOP, or a reason why not."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from warploom_golden.deferral.calls import Group
from warploom_golden.deferral.kernel_store import KernelStore
from warploom_golden.deferral.launch_draft import (
    CONFIGURATION,
    LaunchDraft,
    core_stream,
    draft_of,
)
from warploom_golden.deferral.parameter_blocks import (
    BLOCK_ALIGN,
    Memory,
    MemoryBlocks,
    block_data,
    block_size,
)
from warploom_golden.deferral.refusal import Reason, Refusal, RefusedGroupError
from warploom_golden.deferral.relative_pairs import EVENT_RECORD, StreamOrder, handles
from warploom_golden.deferral.templates import make_loop
from warploom_spec import Config

_COUNT_BITS: Final = 32
_ADDRESS_BITS: Final = 64
_LEAST_IN_FLIGHT: Final = 4


@dataclass(frozen=True)
class Commands:
    """A group as the core takes it.

    Attributes
    ----------
    templates : tuple of tuple of int
        64 words of each template, in the order of the launches.
    loop : tuple of int
        The LOOP's 32 words, with the templates from slot 0 on.
    blocks : tuple of MemoryBlocks
        What must stand in memory before.
    """

    templates: tuple[tuple[int, ...], ...]
    loop: tuple[int, ...]
    blocks: tuple[MemoryBlocks, ...]


def to_commands(
    group: Group, store: KernelStore, config: Config, memory: Memory
) -> Commands | Refusal:
    """Turn a group into templates and a LOOP.

    A parameter travels in an inline word. If a launch has more than ``inline_args`` parameters,
    all of them stand in memory: a block an iteration, to which ``arguments`` steps; if none
    changes, one block for all. Events between the launches become relative pairs. All launches are
    quiet.

    Parameters
    ----------
    group : Group
        As `decode` returns it.
    store : KernelStore
        The application's kernels and streams.
    config : Config
        The core's configuration.
    memory : Memory
        Gives room for parameter blocks; asked once, after all else was found right.

    Returns
    -------
    Commands or Refusal
        A refusal names the first reason that holds: calls that are no launches, too many launches,
        and then what is wrong with the calls, in their order.
    """
    try:
        return _commands(group, store, config, memory)
    except RefusedGroupError as refused:
        return refused.refusal


def _commands(group: Group, store: KernelStore, config: Config, memory: Memory) -> Commands:
    _check_calls(group, store, config)
    if group.count >> _COUNT_BITS:
        raise RefusedGroupError(Reason.RANGE)
    drafts, order = _in_order(group, store, config)
    if any(len(pairs) > config.launch_waits for pairs in order.pairs):
        raise RefusedGroupError(Reason.NOT_A_LAUNCH)
    placed, steps, blocks = _place_blocks(drafts, group.count, memory)
    templates = tuple(
        draft.words(pairs, step, config)
        for draft, pairs, step in zip(placed, order.pairs, steps, strict=True)
    )
    streams = len({draft.descriptor.stream for draft in drafts})
    in_flight = min(max(streams + 1, _LEAST_IN_FLIGHT), max(config.queue_depth // 2, 1))
    loop = make_loop(config, group.count, len(templates), in_flight)
    return Commands(templates, loop, blocks)


def _in_order(
    group: Group, store: KernelStore, config: Config
) -> tuple[list[LaunchDraft], StreamOrder]:
    """Return an iteration's launches, and what each one waits for."""
    order = StreamOrder(group.count)
    drafts: list[LaunchDraft] = []
    for number, call in enumerate(group.calls):
        if call.name in store.kernels:
            drafts.append(draft_of(call, number, group.count, store, config))
            order.launch(drafts[-1].descriptor.stream)
            continue
        found = handles(call.name, call.arguments, group.count, number)
        assert found is not None
        stream = core_stream(found[1], store, config, number).number
        if call.name == EVENT_RECORD:
            order.record(found[0], stream)
        else:
            order.wait(stream, found[0], number)
    order.close()
    return drafts, order


def _check_calls(group: Group, store: KernelStore, config: Config) -> None:
    """Refuse calls that are neither launches nor events, none of them, and too many."""
    launches = 0
    for number, call in enumerate(group.calls):
        kernel = store.kernels.get(call.name)
        if kernel is not None:
            if len(call.arguments) != CONFIGURATION + len(kernel.parameters):
                raise RefusedGroupError(Reason.NOT_A_LAUNCH, number)
            launches += 1
        elif handles(call.name, call.arguments, group.count, number) is None:
            raise RefusedGroupError(Reason.NOT_A_LAUNCH, number)
    if not launches:
        raise RefusedGroupError(Reason.NOT_A_LAUNCH)
    if launches > config.loop_templates:
        raise RefusedGroupError(Reason.TEMPLATES)


def _place_blocks(
    drafts: Sequence[LaunchDraft], count: int, memory: Memory
) -> tuple[list[LaunchDraft], list[int], tuple[MemoryBlocks, ...]]:
    """Return the launches with the addresses of their blocks, the steps between, and the blocks."""
    iterations = [0 if d.inline else 1 if d.is_constant else count for d in drafts]
    sizes = [block_size(draft.kernel.parameters) for draft in drafts]
    total = sum(n * size for n, size in zip(iterations, sizes, strict=True))
    start = memory.take(total, BLOCK_ALIGN) if total else 0
    if start is None or start + total > 1 << _ADDRESS_BITS:
        raise RefusedGroupError(Reason.RANGE)
    placed, blocks = [], []
    for draft, n, size in zip(drafts, iterations, sizes, strict=True):
        placed.append(replace(draft, address=start if n else 0))
        if n:
            data = block_data(draft.parameters, draft.kernel.parameters, n)
            blocks.append(MemoryBlocks(start, data))
        start += n * size
    steps = [size if n > 1 else 0 for n, size in zip(iterations, sizes, strict=True)]
    return placed, steps, tuple(blocks)
