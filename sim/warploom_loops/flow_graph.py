"""A function's control-flow graph, its natural loops and how they nest."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from warploom_loops.extra import require
from warploom_loops.instructions import RETURNS, STOPS, Decoder, Instruction

#: Functions that do not return to their caller.
NO_RETURN: Final = frozenset(
    {
        "exit",
        "_exit",
        "quick_exit",
        "abort",
        "longjmp",
        "__stack_chk_fail",
        "__assert_fail",
        "_Unwind_Resume",
        "__cxa_throw",
        "__cxa_rethrow",
        "__cxa_call_unexpected",
        "__cxa_bad_cast",
        "_ZSt9terminatev",
    }
)
#: Larger functions are not analysed: these are generated tables and whole run-times.
MOST_INSTRUCTIONS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions that run one after the other.

    Attributes
    ----------
    address : int
        Address of the first instruction.
    instructions : tuple of Instruction
        The block's instructions, at least one.
    following : tuple of int
        Addresses of the blocks that may run next.
    """

    address: int
    instructions: tuple[Instruction, ...]
    following: tuple[int, ...]


@dataclass(eq=False)
class Loop:
    """A natural loop, or a cycle of blocks with several entries.

    Attributes
    ----------
    header : int
        Address of the block through which every path enters the loop. If there are several
        entries, the lowest address in the loop.
    blocks : set of int
        Addresses of the loop's blocks, those of inner loops included.
    parent : Loop or None
        The innermost loop around this loop; None if there is none.
    inner : list of Loop
        The loops whose ``parent`` is this loop.
    addresses : set of int
        Addresses of the loop's instructions.
    """

    header: int
    blocks: set[int]
    parent: "Loop | None" = None
    inner: list["Loop"] = field(default_factory=list)
    addresses: set[int] = field(default_factory=set)

    @property
    def depth(self) -> int:
        """Depth of nesting: 1 for a loop that is in no other loop."""
        return 1 if self.parent is None else self.parent.depth + 1


@dataclass(frozen=True)
class FlowGraph:
    """A function's blocks and loops.

    Attributes
    ----------
    entry : int
        Address of the first block.
    blocks : dict of int to Block
        The function's blocks, by address.
    order : list of int
        Addresses of the blocks in reverse post-order. Apart from back edges, each block stands
        before the blocks that may run next.
    loops : dict of int to Loop
        The function's loops, by address of the header.
    trouble : int or None
        Lowest address at which the analysis failed, None if it did not. Causes are an indirect
        jump, bytes that are no instruction, too many instructions, or a loop with two entries.
    """

    entry: int
    blocks: dict[int, Block]
    order: list[int]
    loops: dict[int, Loop]
    trouble: int | None


def build(
    entry: int,
    decoder: Decoder,
    call_name: Callable[[Instruction], str | None],
    is_function: Callable[[int], bool],
) -> FlowGraph:
    """Find a function's blocks by following its branches.

    Parameters
    ----------
    entry : int
        Address of the function.
    decoder : Decoder
        Decodes the program's instructions.
    call_name : callable
        Returns the name of the function that a call instruction reaches; None if unknown.
    is_function : callable
        Returns whether another function begins at an address: a jump to that address is a tail
        call.
    """
    trouble: list[int] = []
    found = _follow(entry, decoder, call_name, is_function, trouble)
    blocks = _cut(found, entry)
    networkx = require("networkx")
    graph = networkx.DiGraph()
    graph.add_node(entry)
    for block in blocks.values():
        graph.add_edges_from((block.address, target) for target in block.following)
    loops = _loops(networkx, graph, entry, blocks, trouble)
    order = [*reversed([*networkx.dfs_postorder_nodes(graph, entry)])]
    return FlowGraph(entry, blocks, order, loops, min(trouble) if trouble else None)


def _follow(
    entry: int,
    decoder: Decoder,
    call_name: Callable[[Instruction], str | None],
    is_function: Callable[[int], bool],
    trouble: list[int],
) -> dict[int, tuple[Instruction, tuple[int, ...]]]:
    """Return every reachable instruction with the addresses that may come next."""
    found: dict[int, tuple[Instruction, tuple[int, ...]]] = {}
    waiting = [entry]
    tables: list[int] = []
    while waiting:
        address = waiting.pop()
        if address in found:
            continue
        instruction = decoder.at(address)
        if instruction is None or len(found) >= MOST_INSTRUCTIONS:
            trouble.append(address)
            continue
        tables += _table(instruction)
        following = _following(instruction, call_name, trouble)
        if address in trouble and instruction.is_jump:
            # The targets of an indirect jump are guesses. The function's loops are listed by them,
            # but none of the loops is deferred.
            following = tuple(t for table in tables for t in decoder.table(table, entry))
        kept = tuple(t for t in following if t == entry or not is_function(t))
        found[address] = (instruction, kept)
        waiting.extend(kept)
    missing = {t for _, following in found.values() for t in following} - found.keys()
    return {a: (i, tuple(t for t in f if t not in missing)) for a, (i, f) in found.items()}


def _table(instruction: Instruction) -> list[int]:
    """Return the address that a ``lea`` computes from ``rip``: it may be that of a jump table."""
    if instruction.name != "lea" or instruction.operands[1].register != "rip":
        return []
    return [instruction.operands[1].number]


def _following(
    instruction: Instruction,
    call_name: Callable[[Instruction], str | None],
    trouble: list[int],
) -> tuple[int, ...]:
    name = instruction.name
    if name in RETURNS or name in STOPS:
        return ()
    if name == "call" and call_name(instruction) in NO_RETURN:
        return ()
    if instruction.is_jump:
        if instruction.target is None:
            if call_name(instruction) is None:
                trouble.append(instruction.address)
            return ()
        return (instruction.target,)
    if instruction.is_branch and instruction.target is not None:
        return tuple(dict.fromkeys((instruction.target, instruction.next)))
    return (instruction.next,)


def _cut(found: dict[int, tuple[Instruction, tuple[int, ...]]], entry: int) -> dict[int, Block]:
    """Cut the instructions that were found into blocks."""
    arrivals: dict[int, int] = {entry: 2}
    for instruction, following in found.values():
        branches = instruction.is_branch or instruction.is_jump
        for target in following:
            arrivals[target] = arrivals.get(target, 0) + (2 if branches else 1)
    blocks = {}
    for start in (address for address, count in arrivals.items() if count > 1):
        if start not in found:
            continue
        run: list[Instruction] = []
        address = start
        while True:
            instruction, following = found[address]
            run.append(instruction)
            if len(following) != 1 or arrivals[following[0]] > 1:
                break
            address = following[0]
        blocks[start] = Block(start, tuple(run), following)
    return blocks


def _loops(
    networkx: Any, graph: Any, entry: int, blocks: dict[int, Block], trouble: list[int]
) -> dict[int, Loop]:
    above = dict(networkx.immediate_dominators(graph, entry))
    loops: dict[int, Loop] = {}
    for source, header in graph.edges:
        if _dominates(above, header, source):
            body = loops.setdefault(header, Loop(header, {header})).blocks
            _collect(graph, source, body)
    without_back_edges = graph.copy()
    without_back_edges.remove_edges_from(
        [(s, h) for s, h in graph.edges if _dominates(above, h, s)]
    )
    for part in networkx.strongly_connected_components(without_back_edges):
        # A cycle that stays without the back edges is a loop with several entries.
        if len(part) > 1:
            trouble.append(entry)
            loops.setdefault(min(part), Loop(min(part), set(part)))
    _nest(loops.values())
    for loop in loops.values():
        loop.addresses = {i.address for b in loop.blocks for i in blocks[b].instructions}
    return loops


def _dominates(above: dict[int, int], upper: int, block: int) -> bool:
    while block != upper:
        parent = above.get(block, block)
        if parent is None or parent == block:
            return False
        block = parent
    return True


def _collect(graph: Any, source: int, body: set[int]) -> None:
    """Add to ``body`` all blocks that reach ``source``, where the loop's back edge begins."""
    waiting = [source]
    while waiting:
        block = waiting.pop()
        if block not in body:
            body.add(block)
            waiting.extend(graph.predecessors(block))


def _nest(loops: Iterable[Loop]) -> None:
    for loop in loops:
        outer = [o for o in loops if o is not loop and loop.header in o.blocks]
        if outer:
            loop.parent = min(outer, key=lambda o: len(o.blocks))
            loop.parent.inner.append(loop)
