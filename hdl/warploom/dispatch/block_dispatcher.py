"""Places blocks of at most two resident launches on SMs, in order, one a cycle."""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any, Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch._fit_table import FitTable
from warploom.dispatch._resident_places import ResidentPlaces
from warploom.dispatch._retire_queue import RetireQueue
from warploom.dispatch.grid_walker import GridWalker
from warploom.dispatch.placement.placement import Placement
from warploom.dispatch.sm.port import SmPort
from warploom.dispatch.sm.slots import lowest_number, number_of
from warploom.lib import faults
from warploom.lib.counters import WideCounters
from warploom_spec import Config, ErrorCode, layouts, timing

#: Stall counters in the order of `SmPort.lacks`, then those of offers and stream order.
STALLS: Final = (
    *("stall_slots", "stall_warps", "stall_registers", "stall_shared", "stall_barriers"),
    *("stall_offer", "stall_order"),
)
#: Groups of SMs that have a register of their own of which place is newest.
_GROUPS: Final = 4


class BlockDispatcher(wiring.Component):
    r"""Place the blocks of at most two resident launches on SMs, lowest id first, never skipping.

    A decision in t is an offer in t + 1; what an SM sends in t counts in decisions from t + 3 on.

    Parameters
    ----------
    config : Config
        SMs, their resources, policy and reclaim.
    fault : str, optional
        One of `FAULTS`, for tests of the tests.

    Attributes
    ----------
    launch : In(stream of dispatch_launch)
        Launches whose indices are decided.
    ended : Out(stream of dispatch_end)
        What became of a launch; of two that end in one cycle the older one's first.
    stop : In(stream of launch_stop)
        Kill or drain one launch; always taken. A decision in its cycle stands; a kill stays a kill.
    enable : In(sms)
        SMs that may get new blocks, one cycle later.
    lost : Out(sms)
        SMs that did not answer in time.
    words : Out(array of 2 launch_words)
        Launch words of each resident place.
    offer : Out(array of sms streams of block_offer)
        Blocks, one cycle after their decision.
    completion : In(array of sms streams of block_completion)
        Ends of blocks, always taken; before an acknowledgement of the same cycle.
    kill : Out(array of sms slot_mask)
        A pulse that names running slots, one outstanding for each SM.
    acknowledge : In(array of sms slot_mask)
        A pulse that ends its kill.
    order_table : In(stream of order_swap)
        ``freed_first`` alone: swap two positions while nothing is resident.
    stall_slots, stall_warps, stall_registers, stall_shared, stall_barriers, stall_offer, \
stall_order : Out(32)
        Counters of stalled cycles by cause, two cycles later, wrapping.
    error : Out(error_record), error_count : Out(16)
        The lowest code of a cycle, then the lowest SM, one cycle later; their number, saturating.

    Raises
    ------
    WarploomError
        If ``fault`` is not one of `FAULTS`.
    """

    FAULTS: Final = (
        *("overcommit", "wrong_slot", "pointer", "late_return", "stream_order", "stale_address"),
        *faults.of_children({"grid_walker": GridWalker.FAULTS}),
    )

    def __init__(self, config: Config, *, fault: str | None = None) -> None:
        self._config = config
        self._fault = faults.checked("BlockDispatcher", fault, self.FAULTS)
        counter = timing(config).stall_counter_bits
        mask = layouts.slot_mask(config).layout()
        ports: dict[str, Any] = {
            "launch": In(stream.Signature(layouts.dispatch_launch(config).layout())),
            "ended": Out(stream.Signature(layouts.dispatch_end(config).layout())),
            "stop": In(stream.Signature(layouts.launch_stop(config).layout())),
            "enable": In(config.sms),
            "lost": Out(config.sms),
            "words": Out(layouts.launch_words(config).layout()).array(2),
            "offer": Out(stream.Signature(layouts.block_offer(config).layout())).array(config.sms),
            "completion": In(stream.Signature(layouts.block_completion(config).layout())).array(
                config.sms
            ),
            "kill": Out(mask).array(config.sms),
            "acknowledge": In(mask).array(config.sms),
            **{name: Out(counter) for name in STALLS},
            "error": Out(layouts.error_record(config).layout()),
            "error_count": Out(timing(config).error_counter_bits),
        }
        if config.policy == "freed_first":
            ports["order_table"] = In(stream.Signature(layouts.order_swap(config).layout()))
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config, fault = self._config, self._fault
        m.submodules.places = places = ResidentPlaces(config, fault=fault)
        m.submodules.walker = walker = GridWalker(
            config, fault=faults.for_child(fault, "grid_walker")
        )
        m.submodules.placement = placement = Placement(config, fault=fault)
        ports = []
        for k in range(config.sms):
            port = SmPort(config, fault=fault)
            m.submodules[f"sm_{k}"] = port
            ports.append(port)

        self._walk(m, places, walker, placement)
        self._connect(m, ports)
        self._gather(m, places, ports)
        self._decide(m, places, walker, placement, ports)
        table = self._fit(m, places, ports)
        if config.reclaim == "in_order":
            self._retire(m, places, placement, ports)
        if config.policy == "least_loaded":
            for k, port in enumerate(ports):
                m.d.comb += placement.loads[k].eq(port.load)
            needs = _chosen(places.head_place, [n.warps for n in places.needs])
            m.d.comb += placement.warps.eq(needs)
        causes = [
            (ErrorCode.COMPLETION_NOT_RUNNING, Cat(port.errors[0] for port in ports)),
            (ErrorCode.ACK_NOT_OUTSTANDING, Cat(port.errors[1] for port in ports)),
            (ErrorCode.ACK_MASK, Cat(port.errors[2] for port in ports)),
            (ErrorCode.LOST_SM_SIGNAL, Cat(port.errors[3] for port in ports)),
            (ErrorCode.STOP_UNKNOWN, places.unknown),
        ]
        order_argument: Value | None = None
        if config.policy == "freed_first":
            order_argument = placement.bad_position
            self._order(m, places, placement, ports)
            causes += [
                (ErrorCode.ORDER_RANGE, placement.bad_range),
                (ErrorCode.ORDER_BUSY, placement.busy),
            ]
        self._report(m, causes, order_argument)
        self._count_stalls(m, places, placement, table, ports)
        return m

    def _walk(
        self, m: Module, places: ResidentPlaces, walker: GridWalker, placement: Placement
    ) -> None:
        """Put the walker between the places and the decision."""
        wiring.connect(m, places.walk, walker.i)
        for port in ("launch", "stop"):
            wiring.connect(m, wiring.flipped(getattr(self, port)), getattr(places, port))
        wiring.connect(m, places.ended, wiring.flipped(self.ended))
        m.d.comb += [
            walker.flush.eq(places.flush),
            walker.o.ready.eq(placement.decided),
            places.head.eq(walker.o.payload),
            places.head_valid.eq(walker.o.valid),
            places.decided.eq(placement.decided),
            placement.wanted.eq(places.active),
            placement.leads.eq(places.leads),
            placement.follows.eq(places.follows),
            places.moves.eq(placement.moves),
            *(self.words[k].eq(places.words[k]) for k in range(2)),
        ]

    def _connect(self, m: Module, ports: list[SmPort]) -> None:
        """Give each SM its ports."""
        for k, port in enumerate(ports):
            wiring.connect(m, port.offer, wiring.flipped(self.offer[k]))
            wiring.connect(m, wiring.flipped(self.completion[k]), port.completion)
            m.d.comb += [
                self.kill[k].eq(port.kill),
                port.acknowledge.eq(self.acknowledge[k]),
                port.enable.eq(self.enable[k]),
                self.lost[k].eq(port.lost),
            ]

    def _gather(self, m: Module, places: ResidentPlaces, ports: list[SmPort]) -> None:
        """Tell the places what happens on any SM, and every SM what is being killed."""
        for name in ("completed", "faulty", "killed", "struck", "present"):
            m.d.comb += getattr(places, name).eq(
                reduce(or_, (getattr(port, name) for port in ports))
            )
        m.d.comb += [
            places.struck_head.eq(Cat(port.struck_head for port in ports).any()),
            places.all_lost.eq(self.lost.all()),
        ]
        for port in ports:
            m.d.comb += [
                port.stop_kill.eq(places.stop_kill),
                port.late.eq(places.late),
                port.hides.eq(places.hides),
            ]

    def _decide(
        self,
        m: Module,
        places: ResidentPlaces,
        walker: GridWalker,
        placement: Placement,
        ports: list[SmPort],
    ) -> None:
        """Offer the head to the SM that the policy chooses."""
        m.d.comb += placement.eligible.eq(Cat(port.eligible for port in ports))
        # Of a layout's signal the stubs do not know that it is a view.
        block: Any = Signal(layouts.block_offer(self._config).layout())
        head = walker.o.payload
        m.d.comb += [
            block.place.eq(places.head_place),
            block.bx.eq(head.bx),
            block.by.eq(head.by),
            block.bz.eq(head.bz),
        ]
        for name in places.offered.shape().members:
            m.d.comb += block[name].eq(places.offered[name])
        for k, port in enumerate(ports):
            m.d.comb += [
                port.block.eq(block),
                port.head_first.eq(places.head_first),
                port.placed.eq(placement.placed[k]),
            ]

    def _fit(self, m: Module, places: ResidentPlaces, ports: list[SmPort]) -> FitTable:
        """Tell every SM how many blocks fit."""
        m.submodules.table = table = FitTable(self._config, fault=self._fault)
        m.d.comb += [
            table.accepted.eq(places.accepted),
            table.newest.eq(places.newest),
            *(table.needs[k].eq(places.needs[k]) for k in range(2)),
        ]
        # Which place is newest matters when the table is known, some cycles after it has changed:
        # each group of SMs has a register of its own, one behind the other.
        newest: Value = table.news.newest
        for k, port in enumerate(ports):
            if k % -(-len(ports) // _GROUPS) == 0:
                nearby = Signal(name=f"newest_{k}")
                m.d.sync += nearby.eq(newest)
                newest = nearby
            m.d.comb += [
                port.fit.eq(table.news),
                port.fit.newest.eq(newest),
                *(port.warps[k].eq(places.needs[k].warps) for k in range(2)),
            ]
        return table

    def _retire(
        self, m: Module, places: ResidentPlaces, placement: Placement, ports: list[SmPort]
    ) -> None:
        """Return resources in the order of the decisions."""
        m.submodules.queue = queue = RetireQueue(self._config)
        m.d.comb += [
            queue.push.eq(placement.decided),
            queue.sm.eq(number_of(placement.placed)),
            queue.slot.eq(
                reduce(
                    or_,
                    (Mux(placement.placed[k], port.lowest, 0) for k, port in enumerate(ports)),
                )
            ),
            queue.place.eq(places.head_place),
        ]
        for k, port in enumerate(ports):
            m.d.comb += [
                queue.busy[k].eq(port.busy),
                port.returned_slots.eq(queue.slots[k]),
                *(port.ending[p].eq(queue.returned[k][p]) for p in range(2)),
            ]

    def _order(
        self, m: Module, places: ResidentPlaces, placement: Placement, ports: list[SmPort]
    ) -> None:
        """Connect what `freed_first` alone needs."""
        swaps = self.order_table
        m.d.comb += [
            swaps.ready.eq(1),
            placement.swap.eq(swaps.valid),
            placement.first.eq(swaps.payload.first),
            placement.second.eq(swaps.payload.second),
            placement.resident.eq(places.resident),
            *(placement.freed[k].eq(port.freed) for k, port in enumerate(ports)),
        ]

    def _report(
        self, m: Module, causes: list[tuple[ErrorCode, Value]], order_argument: Value | None
    ) -> None:
        """Register the lowest error of the cycle, then the lowest SM's."""
        code, argument = Signal.like(self.error.code), Signal.like(self.error.argument)
        some = Cat(cause.any() for _, cause in causes).any()
        for number, cause in reversed(causes):
            own: Value = C(0)
            if len(cause) == self._config.sms:
                own = lowest_number(cause)
            if number is ErrorCode.ORDER_RANGE and order_argument is not None:
                own = order_argument
            with m.If(cause.any()):
                m.d.comb += [code.eq(int(number)), argument.eq(own)]
        m.d.sync += [
            self.error.valid.eq(some),
            self.error.code.eq(code),
            self.error.argument.eq(argument),
        ]
        with m.If(some & ~self.error_count.all()):
            m.d.sync += self.error_count.eq(self.error_count + 1)

    def _count_stalls(
        self,
        m: Module,
        places: ResidentPlaces,
        placement: Placement,
        table: FitTable,
        ports: list[SmPort],
    ) -> None:
        """Count the cycles in which a head waits, by cause."""
        stalled = places.active & ~placement.decided
        alone = _chosen(places.head_place, table.lacks)
        full = Cat(port.in_use & port.full for port in ports).any()
        lacking = reduce(or_, (port.lacks & port.in_use.replicate(5) for port in ports))
        lacking = lacking | Cat(C(0, 1), alone & full.replicate(4))
        blocked = Cat(port.room & ~port.open for port in ports).any()
        causes = Signal(len(STALLS))
        m.d.sync += causes.eq(Cat(Cat(lacking, blocked) & stalled.replicate(6), places.ordered))
        counters = WideCounters(len(STALLS), timing(self._config).stall_counter_bits)
        m.submodules.stalls = counters
        m.d.comb += [
            counters.step.eq(causes),
            *(getattr(self, n).eq(v) for n, v in zip(STALLS, counters.values, strict=True)),
        ]


def _chosen(place: Value, values: Sequence[Value]) -> Value:
    """Return the value of one of the two places."""
    return Mux(place, values[1], values[0])
