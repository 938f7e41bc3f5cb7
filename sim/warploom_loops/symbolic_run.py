"""One symbolic run of a function: its loops' headers and latches, and all that happens between.

A run goes through the blocks in order, once. Where paths meet, values that differ become a choice.
A loop is run until nothing new changes in it: the locations that one iteration changes are unknowns
at its header, all others hold what they held before the loop.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from warploom_loops import call_effects, conditions, vector_steps
from warploom_loops.elf_image import Function
from warploom_loops.events import Event, EventKind, Site
from warploom_loops.flow_graph import Block, FlowGraph, Loop
from warploom_loops.instructions import RETURNS, Instruction
from warploom_loops.integer_steps import push_value, unknown_flags
from warploom_loops.machine_state import (
    State,
    cell,
    cell_bytes,
    entry_state,
    meet,
)
from warploom_loops.program import Program
from warploom_loops.registers import GENERAL, VECTOR
from warploom_loops.step import Step
from warploom_loops.values import FRAME, Value, offset_from

#: The most nested calls that are followed.
DEEPEST: Final = 8
#: The most passes through one loop's body; then the function is given up.
_MOST_PASSES: Final = 12
#: The most blocks that one function's run goes through.
_MOST_BLOCKS: Final = 60_000


class TooLargeError(Exception):
    """A function's symbolic run exceeds the limits on calls, passes or blocks."""


@dataclass(frozen=True)
class Edge:
    """A way out of a block.

    Attributes
    ----------
    source : int
        The block.
    target : int or None
        Where it leads; None out of the function.
    state : State
        What holds there.
    site : tuple of int
        The branch.
    condition : Value or None
        What must hold for it to be taken; None if nothing need.
    """

    source: int
    target: int | None
    state: State
    site: Site
    condition: Value | None = None


@dataclass(frozen=True)
class LoopRun:
    """One symbolic iteration of a loop.

    Attributes
    ----------
    loop : Loop
        The loop.
    entry : State
        What holds before it.
    head : State
        At its header, in any iteration.
    latch : State or None
        At the end of the iteration; None if it never goes round.
    exits : list of Edge
        The ways out.
    events : list of Event
        What happened inside.
    """

    loop: Loop
    entry: State
    head: State
    latch: State | None
    exits: list[Edge]
    events: list[Event]


@dataclass
class _Changes:
    """The locations that a loop's body changes."""

    general: set[str] = field(default_factory=set)
    vector: set[str] = field(default_factory=set)
    frame: set[int] = field(default_factory=set)
    whole_frame: bool = False

    def update(self, head: State, latch: State) -> bool:
        """Add the locations that differ; return whether there are new ones."""
        before = (len(self.general), len(self.vector), len(self.frame), self.whole_frame)
        self.general |= {n for n in GENERAL if head.general[n] != latch.general[n]}
        self.vector |= {n for n in VECTOR if head.vector[n] != latch.vector[n]}
        if head.rest != latch.rest:
            self.whole_frame = True
        places = head.frame.keys() | latch.frame.keys()
        self.frame |= {
            p for p in places if head.frame.get(p, head.rest) != latch.frame.get(p, latch.rest)
        }
        return before != (len(self.general), len(self.vector), len(self.frame), self.whole_frame)

    def forget(self, state: State, loop: Loop) -> State:
        """Return a state in which what changes is unknown, named after the loop's header."""
        head = state.copy()
        origin = ("loop", loop.header)
        for name in self.general:
            head.general[name] = cell(origin, name, 0, 8)
        for name in self.vector:
            head.vector[name] = cell_bytes(origin, name)
        if self.whole_frame:
            head.forget_frame(origin)
        for place in self.frame:
            head.frame[place] = origin
        head.flags = None
        head.trace = ()
        head.passed = frozenset()
        return head


class SymbolicRun:
    """Runs one function.

    Parameters
    ----------
    program : Program
        The program.
    function : Function
        What to run.

    Attributes
    ----------
    loops : dict of int to LoopRun
        Of each loop that can be reached its last, final run.
    events : list of Event
        All that happened in the last runs.
    """

    def __init__(self, program: Program, function: Function):
        self._program = program
        self._function = function
        self.loops: dict[int, LoopRun] = {}
        self.events: list[Event] = []
        self._blocks_run = 0

    def run(self) -> None:
        """Run the function.

        Raises
        ------
        TooLargeError
            If it takes too long.
        """
        graph = self._program.graph(self._function.address)
        edges = self._region(graph, set(graph.blocks), graph.entry, entry_state(), None, ())
        for edge in edges:
            result = edge.state.general["rax"]
            self.events.append(Event(EventKind.RETURN, edge.site, result))

    # --- regions --------------------------------------------------------------------------

    def _region(
        self,
        graph: FlowGraph,
        blocks: set[int],
        start: int,
        state: State,
        loop: Loop | None,
        context: Site,
    ) -> list[Edge]:
        """Run some blocks once; return the edges that leave them or go back to the start."""
        waiting: dict[int, list[State]] = {start: [state]}
        leaving: list[Edge] = []
        for block in graph.order:
            arrived = waiting.pop(block, None)
            if arrived is None:
                continue
            met = meet(arrived, (*context, block))
            inner = graph.loops.get(block)
            if inner is not None and inner is not loop:
                edges = self._loop(graph, inner, met)
            else:
                edges = self._block(graph.blocks[block], met, context)
            for edge in edges:
                if edge.target is None or edge.target not in blocks or edge.target == start:
                    leaving.append(edge)
                else:
                    waiting.setdefault(edge.target, []).append(edge.state)
        return leaving

    def _loop(self, graph: FlowGraph, loop: Loop, entry: State) -> list[Edge]:
        """Run a loop's body until nothing new changes in it; return the edges that leave it."""
        changes = _Changes()
        outer_events = self.events
        for _ in range(_MOST_PASSES):
            head = changes.forget(entry, loop)
            self.events = []
            edges = self._region(graph, loop.blocks, loop.header, head, loop, ())
            back = [edge.state for edge in edges if edge.target == loop.header]
            exits = [edge for edge in edges if edge.target != loop.header]
            latch = meet(back, ("latch", loop.header)) if back else None
            if latch is None or not changes.update(head, latch):
                break
        else:
            raise TooLargeError
        self.loops[loop.header] = LoopRun(loop, entry, head, latch, exits, self.events)
        self.events = outer_events + self.events
        return [_outside(edge, entry) for edge in exits]

    def _block(self, block: Block, state: State, context: Site) -> list[Edge]:
        self._blocks_run += 1
        if self._blocks_run > _MOST_BLOCKS:
            raise TooLargeError
        for instruction in block.instructions[:-1]:
            if not self._instruction(instruction, state, context):
                return []
        return self._last(block, state, context)

    def _last(self, block: Block, state: State, context: Site) -> list[Edge]:
        """Run a block's last instruction; return where it leads."""
        last = block.instructions[-1]
        site = (*context, last.address)
        if last.name in RETURNS:
            return [Edge(block.address, None, state, site)]
        if last.is_jump:
            if block.following:
                return [Edge(block.address, t, state, site) for t in block.following]
            self._tail_call(last, state, context)
            return [Edge(block.address, None, state, site)]
        if last.is_branch:
            return self._branch(block, state, site)
        if not self._instruction(last, state, context):
            return []
        return [Edge(block.address, target, state, site) for target in block.following]

    def _branch(self, block: Block, state: State, site: Site) -> list[Edge]:
        last = block.instructions[-1]
        state.passed |= {site}
        taken = conditions.of_flags(last.name[1:], state.flags)
        if taken is None:
            taken = unknown_flags(self._step(last, state, site[:-1]))
        if taken.number is None:
            self.events.append(Event(EventKind.BRANCH, site, taken))
        edges = []
        for target in dict.fromkeys((last.target, last.next)):
            condition = taken if target == last.target else conditions.opposite(taken)
            if condition.number == 0:
                continue
            if target in block.following:
                edges.append(Edge(block.address, target, state.copy(), site, condition))
            else:  # A call in the last place, under a condition.
                self.events.append(Event(EventKind.CALL, site, detail="a conditional call"))
                edges.append(Edge(block.address, None, state.copy(), site, condition))
        return edges

    # --- instructions and calls -----------------------------------------------------------

    def _step(self, instruction: Instruction, state: State, context: Site) -> Step:
        site = (*context, instruction.address)
        return Step(self._program.image, state, instruction, site, self.events.append)

    def _instruction(self, instruction: Instruction, state: State, context: Site) -> bool:
        """Run an instruction; return whether the next one is reached."""
        step = self._step(instruction, state, context)
        if instruction.name == "call":
            return self._call(step, instruction, state, context)
        vector_steps.run(step)
        return True

    def _call(self, step: Step, instruction: Instruction, state: State, context: Site) -> bool:
        callee = self._program.callee(instruction)
        if callee is not None and self._can_follow(callee, context):
            push_value(step, Value(64, instruction.next))
            return self._follow(callee, step, state, context)
        if callee is not None:
            call_effects.unfollowed(step, callee.name)
        else:
            call_effects.call(step, self._program.call_name(instruction))
        return True

    def _tail_call(self, instruction: Instruction, state: State, context: Site) -> None:
        """Run a jump to another function: a call whose return is this function's own."""
        step = self._step(instruction, state, context)
        callee = self._program.callee(instruction)
        if callee is not None and self._can_follow(callee, context):
            self._follow(callee, step, state, context, tail=True)
        else:
            # The callee's arguments on the stack stand above the return address.
            state.general["rsp"] += Value(64, 8)
            if callee is not None:
                call_effects.unfollowed(step, callee.name)
            else:
                call_effects.call(step, self._program.call_name(instruction))
            state.general["rsp"] -= Value(64, 8)

    def _can_follow(self, callee: Function, context: Site) -> bool:
        if len(context) >= DEEPEST or callee.address == self._function.address:
            return False
        graph = self._program.graph(callee.address)
        return not graph.loops and graph.trouble is None

    def _follow(
        self, callee: Function, step: Step, state: State, context: Site, *, tail: bool = False
    ) -> bool:
        """Run a callee's blocks; leave in ``state`` what holds when it returns."""
        graph = self._program.graph(callee.address)
        edges = self._region(graph, set(graph.blocks), graph.entry, state, None, step.site)
        returned = [edge.state for edge in edges if edge.target is None]
        if not returned:
            return False
        met = meet(returned, (*step.site, "return"))
        if not tail:
            met.general["rsp"] += Value(64, 8)
            place = offset_from(met.general["rsp"], FRAME)
            if place is not None:
                met.drop_below(place)
        _assign(state, met)
        return True


def _outside(edge: Edge, entry: State) -> Edge:
    """Return an exit as the code behind the loop sees it, with what was made before the loop."""
    state = edge.state.copy()
    state.trace, state.passed = entry.trace, entry.passed
    return Edge(edge.source, edge.target, state, edge.site, edge.condition)


def _assign(state: State, other: State) -> None:
    for name, value in vars(other).items():
        setattr(state, name, value)


def reachable(runs: Iterable[LoopRun], header: int) -> LoopRun | None:
    """Return the run of a loop, None if it was never reached."""
    return next((run for run in runs if run.loop.header == header), None)
