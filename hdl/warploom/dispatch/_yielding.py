"""Launches that yield to more urgent ones, or are taken back before they start."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from warploom.dispatch.sm.counts import both
from warploom_spec import Config, Stop
from warploom_spec.layouts import BLOCK_NUMBER_BITS, PLACES
from warploom_spec.queue_packets import STOP_SKIP


def _swapped(bits: Value) -> Value:
    """Return each place's bit for the other place."""
    return Cat(bits[1], bits[0])


class Yielding:
    """What ``preempts`` adds to the two places. Vectors of 2 bits are indexed by place.

    Parameters
    ----------
    config : Config
        The configuration.
    offered : StructLayout
        What offers take from their launch.

    Attributes
    ----------
    occupied : Signal
        The place has a launch. An input.
    goes : Signal
        It is not stopped, and has a block that was not decided. An input.
    own : Signal
        The place is walked. An input.
    decided : Signal
        A block of it was decided in the last cycle. An input.
    ends : Signal
        That was a launch's last block. An input.
    outranked : Signal
        The place yields to the other one: a function of the state.
    interrupted : Signal
        The place that was walked in the last cycle is outranked, and not walked in this cycle.
    skips : Signal
        The place is skipped, unless its first block was decided in the last cycle.
    """

    def __init__(self, config: Config, offered: data.StructLayout) -> None:
        self._config = config
        self._offered = offered
        self.occupied = Signal(PLACES, name="place_occupied")
        self.goes = Signal(PLACES, name="place_goes")
        self.own = Signal(PLACES, name="place_walked")
        self.decided = Signal(PLACES, name="place_decided")
        self.ends = Signal(name="walk_ends")
        self.outranked = Signal(PLACES, name="outranked")
        self.interrupted = Signal(name="interrupted")
        self.skips = Signal(PLACES, name="skips")

    def inform(
        self,
        m: Module,
        occupied: Value,
        stopped: Value,
        exhausted: Value,
        own: Value,
        decided: Value,
    ) -> None:
        """Learn about the places."""
        m.d.comb += [
            self.occupied.eq(occupied),
            self.goes.eq(~stopped & ~exhausted & ~(decided & both(self.ends))),
            self.own.eq(own),
            self.decided.eq(decided),
        ]

    def rank(self, m: Module, places: Any, accepted: Value, held: Value) -> None:
        """Say which place is outranked. ``held``: the place is held by order."""
        priority = [
            Signal(self._config.priority_bits, name=f"priority_{p}", reset_less=True)
            for p in range(PLACES)
        ]
        yields = Signal(PLACES, name="may_yield", reset_less=True)
        for place in range(PLACES):
            with m.If(accepted[place]):
                m.d.sync += [
                    priority[place].eq(places.priority),
                    yields[place].eq(places.yielding),
                ]
        higher = Cat(priority[0] > priority[1], priority[1] > priority[0])
        outranks = self.occupied & self.goes & higher & ~held
        m.d.comb += self.outranked.eq(self.occupied & yields & _swapped(outranks))
        m.d.sync += self.interrupted.eq((self.own & self.outranked).any())

    def skip(self, m: Module, asked: list[Any], started: Value) -> Value:
        """Return which places are skipped in this cycle; ``asked`` are the stops of launches."""
        named = Cat(stop == STOP_SKIP for stop in asked)
        skipped = self.skips & ~self.decided
        may = named & ~started & ~self.decided
        m.d.sync += self.skips.eq(self.occupied & (skipped | may))
        return skipped

    def again(self, place: Value) -> Value:
        """Return which place's walk is interrupted, if ``place`` was walked last."""
        return Cat(~place, place) & both(self.interrupted & ~self.ends)

    def queue(self, m: Module, places: Any, accepted: Value, candidate: Value) -> None:
        """Keep what walk and offers take of each launch, and where an interrupted walk goes on."""
        launch, walker, walk = places.launch.payload, places.walker, places.walk
        grid = walker.grid.payload
        row = data.StructLayout(
            {"walk": grid.shape(), "offered": self._offered, "number": BLOCK_NUMBER_BITS}
        )
        # Of a layout's signal the stubs do not know that it is a view.
        rows: list[Any] = [Signal(row, name=f"row_{p}", reset_less=True) for p in range(PLACES)]
        for place, held in enumerate(rows):
            with m.If(accepted[place]):
                m.d.sync += [held.walk[name].eq(launch[name]) for name in grid.shape().members]
                m.d.sync += [held.offered[name].eq(launch[of]) for name, of in places.copied]
                m.d.sync += held.number.eq(places.number)
        # One launch at most waits to go on: the other one is more urgent.
        block: Any = Signal(walker.next_block.shape(), name="kept_block", reset_less=True)
        number = Signal(BLOCK_NUMBER_BITS, name="kept_number", reset_less=True)
        counted = Signal(name="kept_counted", reset_less=True)
        with m.If(self.interrupted):
            m.d.sync += [
                block.eq(walker.next_block),
                number.eq(walker.block.block_number),
                counted.eq(walker.decided),
            ]
        resumes = Signal(PLACES)
        m.d.sync += resumes.eq((resumes | self.again(walk.place)) & ~accepted)
        # What the candidate needs stands in registers when it is given to the walker.
        following: Any = Signal(row, name="following", reset_less=True)
        goes_on = Signal()
        candidate_resumes = Signal()
        first = candidate[1]
        m.d.comb += candidate_resumes.eq(Mux(first, resumes[1], resumes[0]))
        m.d.sync += [following.eq(Mux(first, rows[1], rows[0])), goes_on.eq(candidate_resumes)]
        with m.If(candidate_resumes):
            m.d.sync += [following.walk[f"start_{axis}"].eq(block[axis]) for axis in "xyz"]
            m.d.sync += following.number.eq(number)
        m.d.comb += [
            grid.eq(following.walk),
            walker.number.eq(following.number),
            walker.counted.eq(counted & goes_on),
            walker.drop.eq(self.interrupted),
        ]
        # `following` may change in a walk's first cycle.
        given: Any = Signal(self._offered, name="given_offered", reset_less=True)
        offered: Any = Signal(self._offered, name="offered", reset_less=True)
        m.d.sync += given.eq(following.offered)
        with m.If(walk.starts):
            m.d.sync += offered.eq(given)
        m.d.comb += places.head.offered.eq(offered)

    def leave(self, m: Module, walker: Any, flushed: Value, words: Any) -> None:
        """Register the number of the head of a launch whose walk is left, beside the head."""
        number = Signal(BLOCK_NUMBER_BITS, name="left_number")
        m.d.comb += number.eq(walker.block.block_number + walker.decided)
        for place in range(PLACES):
            left = Signal(BLOCK_NUMBER_BITS, name=f"left_number_{place}", reset_less=True)
            m.d.comb += words[place].number.eq(left)
            with m.If(flushed[place]):
                m.d.sync += left.eq(number)


def drains_and_kills(asked: list[Any]) -> tuple[Value, Value]:
    """Return which of the stops are a drain or a kill, and which are a kill; none is a skip."""
    kills = Cat(stop == int(Stop.KILL) for stop in asked)
    return Cat(stop == int(Stop.DRAIN) for stop in asked) | kills, kills
