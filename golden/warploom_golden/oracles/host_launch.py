"""A launch and a block in a slot, as a host's ledger knows them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from warploom_golden.oracles.block_state import State, reported_state
from warploom_spec import layouts
from warploom_spec.errors import BlockStatus


@dataclass(eq=False)
class Launch:
    """A ticket's launch, as the SMs saw it.

    Attributes
    ----------
    ticket : int
        The launch's ticket.
    words : mapping
        The launch words that stood beside its first offer.
    need : tuple of int or None
        What a block takes, as in ``warploom_spec.RESOURCES``; None until the launch's command is
        known.
    command : mapping or None
        The fields of that command that are known.
    offered : int
        Number of blocks offered; they are offered in the order of their ids.
    states : dict of State to int
        Number of offered blocks in each state.
    doubted : dict of State to int
        Of those, the blocks whose earlier report says that state: it may have been taken for the
        block's own, and the one that is counted for nobody's.
    killed : bool
        Whether its stream was killed while an SM held one of its blocks.
    stream : int
        Its stream.
    quiet : set of int
        What the field ``quiet`` of its command may be.
    """

    ticket: int
    words: Mapping[str, int]
    need: tuple[int, ...] | None = None
    command: Mapping[str, int] | None = None
    offered: int = 0
    states: dict[State, int] = field(default_factory=lambda: dict.fromkeys(State, 0))
    doubted: dict[State, int] = field(default_factory=lambda: dict.fromkeys(State, 0))
    killed: bool = False
    stream: int = 0
    quiet: set[int] = field(default_factory=lambda: {0, 1})

    def begin_anew(self) -> None:
        """Forget all blocks."""
        self.offered, self.killed = 0, False
        self.states, self.doubted = dict.fromkeys(State, 0), dict.fromkeys(State, 0)

    @property
    def may_be_whole(self) -> bool:
        """Whether every block may have been reported ``ok``."""
        return self.states[State.OK] + self.doubted[State.OK] == self.count

    @property
    def may_have_failed(self) -> bool:
        """Whether a block may have been reported to have failed."""
        return bool(self.states[State.FAULT] or self.doubted[State.FAULT])

    @property
    def is_whole(self) -> bool:
        """Whether every block was reported ``ok``, without a doubt."""
        return self.states[State.OK] == self.count and not any(self.doubted.values())

    @property
    def count(self) -> int:
        """Number of blocks of the grid."""
        return self.words["gx"] * self.words["gy"] * self.words["gz"]

    @property
    def next_block(self) -> tuple[int, int, int]:
        """The block that must be offered next."""
        rows, bx = divmod(self.offered, self.words["gx"])
        bz, by = divmod(rows, self.words["gy"])
        return bx, by, bz

    def number_of(self, block: tuple[int, int, int]) -> int:
        """Return a block's number, modulo 2^32."""
        bx, by, bz = block
        linear = bx + self.words["gx"] * (by + self.words["gy"] * bz)
        return linear % (1 << layouts.BLOCK_NUMBER_BITS)


@dataclass(eq=False)
class HeldBlock:
    """A block in a slot, from its offer until its report.

    ``early`` is the status of a report that came so shortly before the offer that the dispatcher
    may have taken it for the block's own (BlockDispatcher, rules 25 and 26); None: there was none.
    """

    launch: Launch
    stream: int
    early: BlockStatus | None = None
    ended: bool = False

    def end(self, status: BlockStatus, killed: bool) -> None:
        """Enter the block's report."""
        self.ended = True
        self.launch.states[State.OPEN] -= 1
        state = reported_state(status, killed)
        self.launch.states[state] += 1
        if self.early is not None and (before := reported_state(self.early, False)) != state:
            self.launch.doubted[before] += 1
