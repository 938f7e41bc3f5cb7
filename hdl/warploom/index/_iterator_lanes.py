"""IndexIterator's lanes: one warp of placed indices from the place of its first thread."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.index._iterator_setup import GROUP, Sizes, constants, placed, up_to

Given = Mapping[str, Value]


def needed(sizes: Sizes) -> dict[int, list[str]]:
    """Name the values of the first stage's inputs that stages 2 to 4 still need."""
    fixes = ["fix_x", "fix_y", "fix_x_2"]
    per_node = {2: ("node_y", "stay_y", "node_z"), 3: ("node_z",), 4: ()}
    nodes = {k: [f"{n}_{s}" for s in sizes.nodes for n in names] for k, names in per_node.items()}
    here = ["y", "far_y", "z", "far_z", "restart", "beyond_4", "columns_3"]
    steps = ["fix_x_4", "fix_xy_4"]
    return {
        2: [*nodes[2], *here, *fixes, *steps],
        3: [*nodes[3], "z", "far_z", *fixes, *steps],
        4: fixes,
    }


def base(sizes: Sizes) -> data.StructLayout:
    """Lay out the position of a warp's first thread.

    A position is three distances: from the ends of the row (x), of the plane (y), of the block (z).
    Each distance is given by its low bits and by a bit ``far``: the distance is more than the low
    bits can say. ``wraps_x``, ``wraps_y``: the step to the next warp wraps. ``restart``: no warp of
    the same block follows.
    """
    x, y, z = sizes.near
    return data.StructLayout(
        {
            "x": x,
            "y": y,
            "z": z,
            "far_x": 1,
            "far_y": 1,
            "far_z": 1,
            "wraps_x": 1,
            "wraps_y": 1,
            "restart": 1,
        }
    )


class Keeper:
    """Makes registers that take a value in each enabled cycle.

    ``clear`` equals ``enable`` but comes from a register of its own: it drives the registers'
    resets.
    """

    def __init__(self, m: Module, enable: Value, clear: Value) -> None:
        self._m = m
        self._enable = enable
        self._clear = clear

    def __call__(
        self, name: str, value: Value, *, when: Value | None = None, otherwise: int = 0
    ) -> Signal:
        """Return the register. While ``when`` is 0 it becomes ``otherwise``, by its reset input.

        A choice by the reset input takes no gates.
        """
        init = otherwise & ((1 << len(value)) - 1)
        kept = Signal(len(value), name=name, init=init, reset_less=True)
        with self._m.If(self._enable):
            self._m.d.sync += kept.eq(value)
        if when is not None:
            with self._m.If(self._clear & ~when):
                self._m.d.sync += kept.eq(init)
        return kept


@dataclass(frozen=True)
class Node:
    """A group's first lane. Each value is valid from the stage that is named.

    Attributes
    ----------
    x : Signal
        Second stage: lanes until the row ends, at most 7.
    y : Signal
        Third stage: rows until the plane ends, at most 3.
    word : Signal
        Fourth stage: the placed word.
    thread, last_plane : Value
        Fourth stage: the lane is a thread; it is in the last plane.
    """

    x: Signal
    y: Signal
    word: Signal
    thread: Value
    last_plane: Value


class Lanes(wiring.Component):
    """Make W placed indices in six stages, each one addition or a few gates deep.

    Lanes 8, 16, ... are the *nodes*. Their distances from the ends of row, plane and block are the
    first lane's distances minus a step. The borrows of these subtractions say which dimensions
    wrap, and so what the step adds to the placed word. Each node is an *anchor*; a step of 4 lanes
    makes a second one. From each anchor one addition makes each of the next two lanes, and a second
    addition the third.

    Parameters
    ----------
    sizes : Sizes
        Widths.
    """

    enable: Signal
    clear: Signal
    constants: data.View
    base: data.View
    lanes: Signal
    mask: Signal

    #: From ``base`` to ``lanes``.
    STAGES: Final = 6

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        super().__init__(
            {
                # The stages move.
                "enable": In(1),
                # Equal to `enable`, from a gate of its own: `enable` drives many registers and is
                # late.
                "clear": In(1),
                # The constants of the block whose warp is at `base`.
                "constants": In(constants(sizes)),
                # A warp's first thread, see `base`.
                "base": In(base(sizes)),
                # The warp, six enabled edges later. The word of a lane without a thread is
                # undefined.
                "lanes": Out(sizes.warp * sizes.lane),
                "mask": Out(sizes.warp),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        keep = Keeper(m, self.enable, self.clear)
        given: dict[str, Value] = {}
        for view in (self.constants, self.base):
            given |= {name: Value.cast(view[name]) for name in view.shape().members}
        at: dict[int, Given] = {1: given}
        for stage, names in needed(self._sizes).items():
            at[stage] = {name: keep(f"{name}_{stage}", at[stage - 1][name]) for name in names}
        word = self._first_word(m, keep, at)
        nodes = [first_node(keep, at, word)]
        for lane in self._sizes.nodes:
            nodes.append(later_node(keep, at, word, self._place(keep, at[1], lane), lane))
        lanes: list[Value] = []
        mask: list[Value] = []
        for number, node in enumerate(nodes):
            words, threads = group(keep, at, node, number * GROUP)
            lanes += words
            mask += threads
        # Of a group that is larger than the warp only the first lanes are wanted: synthesis leaves
        # out the others.
        size = self._sizes.warp
        m.d.comb += [self.lanes.eq(Cat(lanes[:size])), self.mask.eq(Cat(mask[:size]))]
        return m

    def _place(self, keep: Keeper, k: Given, lane: int) -> Signal:
        """Return the placed index of a node's lane in the first warp; valid in the second stage."""
        index = k[f"node_x_{lane}"], k[f"node_y_{lane}"], k[f"node_z_{lane}"]
        return keep(f"place_{lane}", placed(self._sizes, index, (k["up_y"], k["up_z"])))

    def _first_word(self, m: Module, keep: Keeper, at: Mapping[int, Given]) -> Signal:
        """Step the placed word of the warps' first lanes; valid in the second stage."""
        k = at[1]
        step = keep("word_step", _plus(k["place_step"], _fix(k, k["wraps_x"], k["wraps_y"])))
        word = Signal(self._sizes.lane, name="first_word", reset_less=True)
        with m.If(self.enable):
            m.d.sync += word.eq(word + step)
        with m.If(self.clear & at[2]["restart"]):
            m.d.sync += word.eq(0)
        return word


def _plus(a: Value, b: Value) -> Value:
    """Add two placed words. A carry out of the word occurs in lanes without a thread alone."""
    return (a + b)[: len(a)]


def _fix(k: Given, x: Value, y: Value) -> Value:
    """Return the number that wraps of x and y add to a placed word."""
    return Mux(x, k["fix_x"], 0) | Mux(y, k["fix_y"], 0)


def first_node(keep: Keeper, at: Mapping[int, Given], word: Signal) -> Node:
    """Return the warp's first lane as a node."""
    return Node(
        x=keep("x_0", up_to(Cat(at[1]["x"], at[1]["far_x"]), 3)),
        y=keep("y_0", up_to(Cat(at[2]["y"], at[2]["far_y"]), 2)),
        word=keep("word_0", keep("first_word_3", word)),
        thread=C(1, 1),
        last_plane=keep("last_plane_0", ~Cat(at[3]["z"], at[3]["far_z"]).any()),
    )


def later_node(
    keep: Keeper, at: Mapping[int, Given], word: Signal, place: Signal, lane: int
) -> Node:
    """Step from the warp's first lane to the lane of a node, which stands at ``place``."""
    # Columns: a step past the row's end wraps to the row's begin.
    x, far = at[1]["x"], at[1]["far_x"]
    rest = x - at[1][f"node_x_{lane}"]
    wraps = rest[len(x)]
    anew = x[:3] + at[1][f"stay_x_{lane}"] + 1
    # Each sum is cut to the bits that matter before the late choice between them.
    anew = anew[:3] | (anew[3] | x[3:].any() | far).replicate(3)
    ahead = rest[:3] | (rest[3 : len(x)].any() | far).replicate(3)
    x_2 = keep(f"x_{lane}", Mux(wraps, anew, ahead))
    wraps_x_2 = keep(f"wraps_x_2_{lane}", wraps & ~far)
    wraps_x_3 = keep(f"wraps_x_3_{lane}", wraps_x_2)
    # Rows, one more if x wrapped.
    y, far = at[2]["y"], at[2]["far_y"]
    rest = (Cat(C(0, 1), y) - Cat(wraps_x_2, at[2][f"node_y_{lane}"]))[1:]
    wraps = rest[len(y)]
    anew = y[:2] + at[2][f"stay_y_{lane}"] + ~wraps_x_2
    anew = anew[:2] | (anew[2] | y[2:].any() | far).replicate(2)
    ahead = rest[:2] | (rest[2 : len(y)].any() | far).replicate(2)
    y_3 = keep(f"y_{lane}", Mux(wraps, anew, ahead))
    wraps_y_3 = keep(f"wraps_y_{lane}", wraps & ~far)
    # Planes, one more if y wrapped.
    z, far = at[3]["z"], at[3]["far_z"]
    planes = at[3][f"node_z_{lane}"] + wraps_y_3
    unwrapped = keep(f"unwrapped_{lane}", _plus(word, place))
    return Node(
        x=x_2,
        y=y_3,
        word=keep(f"word_{lane}", _plus(unwrapped, _fix(at[3], wraps_x_3, wraps_y_3))),
        thread=keep(f"thread_{lane}", far | (z >= planes)),
        last_plane=keep(f"last_plane_{lane}", ~far & (z == planes)),
    )


def group(
    keep: Keeper, at: Mapping[int, Given], node: Node, lane: int
) -> tuple[list[Value], list[Value]]:
    """Make a node's lane and the seven after it; returns words and mask after the sixth stage.

    The wraps of x within the group follow from the node's distance and the number of columns. The
    three lanes behind each anchor contain at most one wrap of x; the group contains at most one
    wrap of y.
    """
    # Second stage: the rows that end before the second anchor, and the anchor's distance x_4.
    k = at[2]
    x = node.x
    soon = ~x[2]
    twice = k["columns_3"] & (x == 0)
    ends = keep(f"ends_{lane}", Cat(soon & ~twice, soon & twice))
    beyond = up_to(x[:2] + k["beyond_4"], 2)
    third = Cat(x[1], ~x[1] & ~x[0])  # 0, 1, 2 become 2, 0, 1
    x_4 = Mux(soon, Mux(k["columns_3"], third, beyond), x[:2])
    within = [
        keep(f"within_{lane}", Cat(x < n for n in range(1, 4))),
        keep(f"within_{lane + 4}", Cat(x_4 < n for n in range(1, 4))),
    ]
    # Third stage: which of these rows ends a plane; the step of 4 lanes.
    k = at[3]
    crosses = node.y < ends
    ends_plane = [
        keep(f"ends_plane_{lane}", node.y == 0),
        keep(f"ends_plane_{lane + 4}", node.y == ends),
    ]
    step = Mux(crosses, k["fix_xy_4"], k["fix_x_4"])
    # Two rows end within 4 lanes only if a row has 3 columns. fix_x is 1 then, and the sum 4 + 2
    # is the sum 4 + 1 with its two lowest bits swapped.
    step = Cat(step[0] & ~ends[1], step[1] | ends[1], step[2:])
    step = keep(f"step_{lane}", step, when=ends.any(), otherwise=4)
    crossed = keep(f"crossed_{lane}", crosses)
    wraps = [keep(f"wraps_{lane + 4 * half}", within[half]) for half in (0, 1)]
    # Fourth stage: both anchors, the addends of their next lanes, the mask.
    anchors = [
        keep(f"anchor_{lane}", node.word),
        keep(f"anchor_{lane + 4}", _plus(node.word, step)),
    ]
    still = node.thread & ~(node.last_plane & crossed)
    threads = [node.thread]
    threads += [node.thread & ~(node.last_plane & ends_plane[0] & wraps[0][n]) for n in range(3)]
    threads += [still]
    threads += [still & ~(node.last_plane & ends_plane[1] & wraps[1][n]) for n in range(3)]
    mask = keep(f"mask_6_{lane}", keep(f"mask_5_{lane}", Cat(threads)))
    lanes: list[Value] = []
    for half in (0, 1):
        lanes += quarter(keep, at[4], anchors[half], ends_plane[half], wraps[half], lane + 4 * half)
    return lanes, list(keep(f"mask_{lane}", mask))


def quarter(
    keep: Keeper, k: Given, anchor: Signal, ends_plane: Value, wraps: Value, lane: int
) -> list[Value]:
    """Make an anchor's lane and the three after it, from the fourth stage on.

    Addends of a step of one lane are kept inverted: a + n + 1 = a - ~n. A reset gives all ones,
    which is the inverted 0.
    """
    not_fix = ~(k["fix_x"] | Mux(ends_plane, k["fix_y"], 0))
    fix_2 = k["fix_x_2"] | Mux(ends_plane, k["fix_y"], 0)
    not_add_1 = keep(f"not_add_{lane + 1}", not_fix, when=wraps[0], otherwise=-1)
    add_2 = keep(f"add_{lane + 2}", fix_2, when=wraps[1], otherwise=2)
    not_fix = keep(f"not_fix_{lane}", not_fix)
    # Fifth stage: the next two lanes, and the addend of the last lane.
    third_wraps = keep(f"third_wraps_{lane}", wraps[2] & ~wraps[1])
    first = keep(f"first_{lane}", anchor)
    second = keep(f"second_{lane}", (anchor - not_add_1)[: len(anchor)])
    third = keep(f"third_{lane}", _plus(anchor, add_2))
    not_add_3 = keep(f"not_add_{lane + 3}", not_fix, when=third_wraps, otherwise=-1)
    # Sixth stage.
    return [
        keep(f"lane_{lane}", first),
        keep(f"lane_{lane + 1}", second),
        keep(f"lane_{lane + 2}", third),
        keep(f"lane_{lane + 3}", (third - not_add_3)[: len(third)]),
    ]
