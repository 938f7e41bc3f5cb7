"""One launch of a group's iteration, checked against the kernel store and the core's fields."""

from dataclasses import dataclass, replace
from typing import Final

from warploom_golden.deferral.calls import Alternate, Call, Constant, Linear
from warploom_golden.deferral.kernel_store import NUMBER_SIZES, CoreStream, Kernel, KernelStore
from warploom_golden.deferral.loop_rules import Rule, constant_of, rule_of, stays_below
from warploom_golden.deferral.refusal import Reason, RefusedGroupError
from warploom_golden.deferral.relative_pairs import Pairs
from warploom_golden.deferral.templates import (
    ARGUMENTS,
    GRID_X,
    GRID_YZ,
    INLINE_FIELD,
    make_template,
    quiet_launch,
)
from warploom_spec import Config, LaunchDescriptor, WarploomError

#: Arguments of a launch before the kernel's own: grid, block, bytes of shared memory, stream.
CONFIGURATION: Final = 8
_CONFIGURATION_BYTES: Final = (4, 4, 4, 4, 4, 4, 8, 8)
_AXIS_BITS: Final = 16


@dataclass(frozen=True)
class LaunchDraft:
    """One launch of an iteration.

    Attributes
    ----------
    kernel : Kernel
        What it launches.
    descriptor : LaunchDescriptor
        Its fields in iteration 0, without parameters.
    grid : Rule
        How the grid's x changes.
    rows : Rule
        How y and z change; z in the upper half of each value.
    parameters : tuple of Rule
        The kernel's parameters.
    inline : bool
        Whether they travel in inline words.
    address : int
        Where the parameter blocks stand, if they do not.
    """

    kernel: Kernel
    descriptor: LaunchDescriptor
    grid: Rule
    rows: Rule
    parameters: tuple[Rule, ...]
    inline: bool
    address: int = 0

    @property
    def is_constant(self) -> bool:
        """Whether no parameter changes."""
        return all(isinstance(rule, Constant) for rule in self.parameters)

    def words(self, pairs: Pairs, block_step: int, config: Config) -> tuple[int, ...]:
        """Return the words of the launch's template.

        Parameters
        ----------
        pairs : dict of int to int
            The relative pairs that it waits for, ``launch_waits`` at most.
        block_step : int
            Bytes from one parameter block to the next; 0: there is one for all iterations.
        config : Config
            The core's configuration.
        """
        steps: dict[int, Rule] = {GRID_X: self.grid, GRID_YZ: self.rows}
        inline = self.parameters if self.inline else ()
        steps |= {INLINE_FIELD + k: rule for k, rule in enumerate(inline)}
        if block_step:
            steps[ARGUMENTS] = Linear(self.address, block_step)
        made = replace(self.descriptor, arguments=self.address, inline=tuple(map(_first, inline)))
        return make_template(config, made.values(config) | quiet_launch(pairs), steps)


def draft_of(
    call: Call, number: int, count: int, store: KernelStore, config: Config
) -> LaunchDraft:
    """Return what a template of a launch holds.

    Parameters
    ----------
    call : Call
        A call that names a kernel of the store, with as many arguments as that needs.
    number, count : int
        Number of the call within the iteration, and iterations of the group.
    store : KernelStore
        The application's kernels and streams.
    config : Config
        The core's configuration.

    Raises
    ------
    RefusedGroupError
        If an argument is a result or bytes, a field changes that cannot step, or a value leaves
        its bits.
    """
    kernel = store.kernels[call.name]
    grid = tuple(rule_of(argument, 4, count, number) for argument in call.arguments[:3])
    for rule, bits in zip(grid, config.grid_bits, strict=True):
        if not stays_below(rule, bits, count):
            raise RefusedGroupError(Reason.RANGE, number)
    dx, dy, dz, shared, handle = (
        constant_of(argument, size, count, number)
        for argument, size in zip(
            call.arguments[3:CONFIGURATION], _CONFIGURATION_BYTES[3:], strict=True
        )
    )
    stream = core_stream(handle, store, config, number)
    rows = _rows(grid[1], grid[2], number)
    x, y, z = map(_first, grid)
    try:
        made = LaunchDescriptor.from_cuda(
            (x, y, z), (dx, dy, dz), kernel.registers, kernel.shared_bytes + shared, config
        )
    except WarploomError as error:
        raise RefusedGroupError(Reason.RANGE, number) from error
    descriptor = replace(
        made,
        barriers=kernel.barriers,
        index_address=store.index_addresses.get(made.block, 0),
        stream=stream.number,
        priority=stream.priority,
        idempotent=int(kernel.idempotent),
        mode=int(kernel.mode),
        code=kernel.code,
        address_space=store.address_space,
    )
    inline = len(kernel.parameters) <= config.inline_args
    parameters = _parameters(call, number, count, kernel, inline)
    return LaunchDraft(kernel, descriptor, grid[0], rows, parameters, inline)


def _rows(y: Rule, z: Rule, number: int) -> Rule:
    """Return how the word with y and z changes: as a whole, it steps or alternates.

    Raises
    ------
    RefusedGroupError
        If one of the two steps and the other one alternates.
    """
    kinds = {type(rule) for rule in (y, z)} - {Constant}
    if len(kinds) > 1:
        raise RefusedGroupError(Reason.FIXED_FIELD, number)
    first = _first(y) | _first(z) << _AXIS_BITS
    if kinds == {Linear}:
        steps = (rule.increment if isinstance(rule, Linear) else 0 for rule in (y, z))
        low, high = (step & (1 << _AXIS_BITS) - 1 for step in steps)
        return Linear(first, low | high << _AXIS_BITS)
    if kinds == {Alternate}:
        low, high = (rule.other if isinstance(rule, Alternate) else _first(rule) for rule in (y, z))
        return Alternate(first, low | high << _AXIS_BITS)
    return Constant(first)


def _parameters(
    call: Call, number: int, count: int, kernel: Kernel, inline: bool
) -> tuple[Rule, ...]:
    rules = []
    for argument, size in zip(call.arguments[CONFIGURATION:], kernel.parameters, strict=True):
        rule = rule_of(argument, size, count, number)
        if size not in NUMBER_SIZES:
            raise RefusedGroupError(Reason.BYTES, number)
        # An inline word steps modulo 2^64: an argument that is smaller than its parameter must
        # not wrap on its way.
        if inline and rule.size < size and not stays_below(rule, 8 * rule.size, count):
            raise RefusedGroupError(Reason.RANGE, number)
        rules.append(rule)
    return tuple(rules)


def core_stream(handle: int, store: KernelStore, config: Config, number: int) -> CoreStream:
    """Return the core's stream of a CUDA stream.

    Raises
    ------
    RefusedGroupError
        If the store has none, or the core has no such stream or priority.
    """
    stream = store.streams.get(handle)
    if (
        stream is None
        or stream.number >> config.stream_bits
        or stream.priority >> config.priority_bits
    ):
        raise RefusedGroupError(Reason.RANGE, number)
    return stream


def _first(rule: Rule) -> int:
    return rule.first if isinstance(rule, Linear) else rule.value
