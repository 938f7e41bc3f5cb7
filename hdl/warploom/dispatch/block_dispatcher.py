"""Places blocks of at most two resident launches on SMs, in order, one a cycle."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch._fit_table import FitTable
from warploom.dispatch._resident_places import ResidentPlaces
from warploom.dispatch._retire_queue import RetireQueue
from warploom.dispatch.grid_walker import GridWalker
from warploom.dispatch.placement import PlacementPolicy, policy_class
from warploom.dispatch.sm.port import SmPort
from warploom.lib.bits import lowest_number, number_of
from warploom.lib.counters import WideCounters
from warploom_spec import RESOURCES, STALL_CAUSES, Config, ErrorCode, layouts, timing
from warploom_spec.layouts import BLOCK_NUMBER_BITS, PLACES


class BlockDispatcher(wiring.Component):
    r"""Place the blocks of at most two resident launches on SMs, lowest id first, never skipping.

    A decision in t is an offer in t + 2. What an SM reports in t counts in decisions from t + 4 on.
    Ports and the exact machine: ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        SMs, their resources, policy and reclaim.
    persistent_domain : str, optional
        Clock domain of ``lost``, for a builder that resets the others without it.
    preempts : bool, optional
        Whether a launch may be skipped, and yield to a more urgent one: the rules and ports of the
        page's section.
    first_number : int, optional
        Number of each launch's first block, for tests of the numbers' wrap. Without effect with
        ``preempts``: there the port ``launch_number`` says it.
    """

    def __init__(
        self,
        config: Config,
        *,
        persistent_domain: str = "sync",
        preempts: bool = False,
        first_number: int = 0,
    ) -> None:
        self._config = config
        self._first_number = first_number
        self._persistent_domain = persistent_domain
        self._preempts = preempts
        counter = timing(config).stall_counter_bits
        sms = config.sms
        ports: dict[str, Any] = {
            # Launches whose indices are decided.
            "launch": In(stream.Signature(layouts.dispatch_launch(config).layout())),
            # The end of a launch; of two that end in one cycle the older one's comes first.
            "ended": Out(stream.Signature(layouts.dispatch_end(config).layout())),
            # For each place nothing, drain or kill. A decision in its cycle stands; a kill stays a
            # kill.
            "stop": In(layouts.dispatch_stop(config).layout()),
            # SMs that may get new blocks, one cycle later.
            "enable": In(sms),
            # SMs that did not report a killed launch's blocks in time.
            "lost": Out(sms),
            # Launch words of each resident place.
            "words": Out(layouts.launch_words(config).layout()).array(PLACES),
            # Blocks, two cycles after their decision.
            "offer": Out(stream.Signature(layouts.block_offer(config).layout())).array(sms),
            # Ends of blocks, always taken.
            "report": In(stream.Signature(layouts.block_report(config).layout())).array(sms),
            # Bit p: the launch of place p is being killed; two cycles after a stop.
            "kill": Out(PLACES),
            # Counters of stalled cycles by cause, three cycles later, wrapping.
            **{f"stall_{cause}": Out(counter) for cause in STALL_CAUSES},
            # The lowest code of a cycle, then the lowest SM, four cycles later; their number,
            # saturating.
            "error": Out(layouts.error_record(config).layout()),
            "error_count": Out(timing(config).error_counter_bits),
        }
        if config.has_order_table:
            # Swap two positions while nothing is resident.
            ports["order_table"] = In(stream.Signature(layouts.order_swap(config).layout()))
        if preempts:
            ports |= {
                # Of the launch at `launch`: its priority, whether it yields to higher ones, and the
                # number of its first block.
                "launch_priority": In(config.priority_bits),
                "launch_yields": In(1),
                "launch_number": In(BLOCK_NUMBER_BITS),
                # Number of the next block of the record at `ended`.
                "ended_number": Out(BLOCK_NUMBER_BITS),
                # Bit p: a block of place p's launch was decided, two cycles later.
                "started": Out(PLACES),
                # Bit p: place p may not place blocks in this cycle, because it yields.
                "yields": Out(PLACES),
            }
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config, preempts = self._config, self._preempts
        m.submodules.places = places = ResidentPlaces(config, preempts=preempts)
        m.submodules.walker = walker = GridWalker(
            config, first_number=self._first_number, resumes=preempts
        )
        m.submodules.placement = placement = policy_class(config)(config)
        m.submodules.table = table = FitTable(config, preempts=preempts)
        ports = []
        for k in range(config.sms):
            domain = self._persistent_domain
            port = SmPort(config, persistent_domain=domain, preempts=preempts)
            m.submodules[f"sm_{k}"] = port
            ports.append(port)

        self._boot(m, places, ports)
        self._walk(m, places, walker, placement)
        self._fit(m, places, table)
        self._connect(m, places, table, ports)
        self._decide(m, places, walker, placement, ports)
        self._gather(m, places, ports)
        if config.reclaim == "in_order":
            self._retire(m, places, placement, ports)
        self._inform(m, places, placement, ports)
        self._report(m, placement, ports)
        self._count_stalls(m, places, placement, table, ports)
        return m

    def _boot(self, m: Module, places: ResidentPlaces, ports: list[SmPort]) -> None:
        """After a reset go through all slots; launches wait and reports are ignored meanwhile."""
        boot = Signal(init=1)
        boot_next = Signal()
        entered = Signal()
        slot = Signal(self._config.slot_bits, name="boot_slot")
        m.d.sync += [slot.eq(slot + 1), entered.eq(boot), boot.eq(boot_next)]
        m.d.comb += [
            boot_next.eq(boot & (slot != self._config.block_slots - 1)),
            places.boot.eq(boot_next),
        ]
        for port in ports:
            m.d.comb += [
                port.boot.active.eq(boot),
                port.boot.entered.eq(entered),
                port.boot.slot.eq(slot),
            ]

    def _walk(
        self, m: Module, places: ResidentPlaces, walker: GridWalker, placement: PlacementPolicy
    ) -> None:
        """Put the walker between the places and the decision.

        Only the SMs and the policy hear of a decision in its own cycle. The walker goes on a cycle
        later, so that it shows the block that the offer takes.
        """
        decided = Signal()
        m.d.sync += decided.eq(placement.decided)
        wiring.connect(m, places.walker.grid, walker.i)
        wiring.connect(m, wiring.flipped(self.launch), places.launch)
        wiring.connect(m, places.ended, wiring.flipped(self.ended))
        m.d.comb += [
            places.stop.eq(self.stop),
            walker.flush.eq(places.walker.flush),
            walker.o.ready.eq(decided),
            places.walker.block.eq(walker.o.payload),
            places.walker.valid.eq(walker.o.valid),
            places.walker.decided.eq(decided),
            placement.wanted.eq(places.head.wanted),
            *(self.words[k].eq(places.words[k]) for k in range(PLACES)),
            self.kill.eq(places.kill),
        ]
        if self._preempts:
            m.d.comb += [
                walker.drop.eq(places.walker.drop),
                walker.number.eq(places.walker.number),
                walker.counted.eq(places.walker.counted),
                places.walker.next_block.eq(walker.next_block),
                places.priority.eq(self.launch_priority),
                places.yielding.eq(self.launch_yields),
                places.number.eq(self.launch_number),
                self.ended_number.eq(places.ended_number),
                self.started.eq(places.started),
                self.yields.eq(places.yields),
            ]

    def _fit(self, m: Module, places: ResidentPlaces, table: FitTable) -> None:
        """Connect the fit table with the places and the SMs."""
        m.d.comb += [
            table.begun.eq(places.fit.begun),
            table.newest.eq(places.fit.newest),
            table.walked.eq(places.walk.place),
            places.fit.none.eq(table.none),
            *(table.needs[k].eq(places.fit.needs[k]) for k in range(PLACES)),
        ]

    def _connect(
        self, m: Module, places: ResidentPlaces, table: FitTable, ports: list[SmPort]
    ) -> None:
        """Connect each SM's ports, and the signals common to all SMs."""
        kill_before = Signal(PLACES)
        m.d.sync += kill_before.eq(places.kill)
        for k, port in enumerate(ports):
            wiring.connect(m, port.offer, wiring.flipped(self.offer[k]))
            wiring.connect(m, wiring.flipped(self.report[k]), port.report)
            m.d.comb += [
                port.enable.eq(self.enable[k]),
                self.lost[k].eq(port.lost),
                port.launches.fit.eq(table.fit),
                port.launches.late.eq(places.late),
                port.launches.kill_before.eq(kill_before),
                *(
                    getattr(port.launches.walk, name).eq(getattr(places.walk, name))
                    for name in places.walk.signature.members
                ),
            ]

    def _decide(
        self,
        m: Module,
        places: ResidentPlaces,
        walker: GridWalker,
        placement: PlacementPolicy,
        ports: list[SmPort],
    ) -> None:
        """Offer the head to the SM that the policy chooses."""
        m.d.comb += placement.eligible.eq(Cat(port.eligible for port in ports))
        # Of a layout's signal the stubs do not know that it is a view.
        block: Any = Signal(layouts.block_offer(self._config).layout())
        # `role` and the offered fields change two cycles after a decision at the earliest.
        m.d.comb += block.place.eq(places.walk.role)
        m.d.comb += [
            block[name].eq(walker.o.payload[name]) for name in ("bx", "by", "bz", "block_number")
        ]
        for name in places.head.offered.shape().members:
            m.d.comb += block[name].eq(places.head.offered[name])
        for k, port in enumerate(ports):
            m.d.comb += [port.block.eq(block), port.placed.eq(placement.placed[k])]

    def _gather(self, m: Module, places: ResidentPlaces, ports: list[SmPort]) -> None:
        """Gather the SMs' events for the places."""
        # Reports pass one more register.
        for domain, names in (
            ("sync", ("hits", "faulty", "killed")),
            ("comb", ("sm_loss", "held")),
        ):
            for name in names:
                on_any = reduce(or_, (getattr(port.events, name) for port in ports))
                m.d[domain] += getattr(places.events, name).eq(on_any)
        m.d.comb += places.all_lost.eq(self.lost.all())

    def _retire(
        self, m: Module, places: ResidentPlaces, placement: PlacementPolicy, ports: list[SmPort]
    ) -> None:
        """Return resources in the order of the decisions."""
        m.submodules.queue = queue = RetireQueue(self._config)
        m.d.sync += [
            queue.push.eq(placement.decided),
            queue.sm.eq(number_of(placement.placed)),
        ]
        m.d.comb += queue.place.eq(places.walk.role)
        for k, port in enumerate(ports):
            m.d.comb += [
                queue.done[k].eq(port.done),
                port.retire.eq(queue.retire[k]),
                port.retired.eq(queue.retired[k]),
            ]

    def _inform(
        self, m: Module, places: ResidentPlaces, placement: PlacementPolicy, ports: list[SmPort]
    ) -> None:
        """Connect the policy's inputs: those that its class asks for."""
        if placement.READS_RETURNS:
            m.d.comb += [
                placement.resident.eq(places.resident),
                *(placement.freed[k].eq(port.returned.any()) for k, port in enumerate(ports)),
            ]
        if self._config.has_order_table:
            wiring.connect(m, wiring.flipped(self.order_table), placement.swap)
        if placement.READS_LOADS:
            needs = places.fit.needs
            needed = Mux(places.walk.role, needs[1].warps, needs[0].warps)
            if self._config.makes_indices:
                # The same number, nearer.
                needed = places.head.offered.index_warps
            for k, port in enumerate(ports):
                m.d.comb += [
                    placement.loads[k].eq(port.load),
                    port.warps_placed.eq(needed),
                    *(port.warps[p].eq(needs[p].warps) for p in range(PLACES)),
                ]

    def _report(self, m: Module, placement: PlacementPolicy, ports: list[SmPort]) -> None:
        """Register the lowest SM of each code, then the lowest code's."""
        codes = (
            ErrorCode.REPORT_NOT_RUNNING,
            ErrorCode.KILL_NOT_ASKED,
            ErrorCode.LOST_SM_SIGNAL,
        )
        errors: list[tuple[ErrorCode, Value, Value]] = []
        for index, code in enumerate(codes):
            causes = Cat(port.errors[index] for port in ports)
            errors.append(self._registered(m, code, causes.any(), lowest_number(causes), 1))
        if self._config.has_order_table:
            # These causes come directly from the port, the others two cycles later.
            refused = placement.refused
            errors += [
                self._registered(m, ErrorCode.ORDER_RANGE, refused.range, refused.position, 3),
                self._registered(m, ErrorCode.ORDER_BUSY, refused.busy, C(0), 3),
            ]
        code = Signal.like(self.error.code)
        argument = Signal.like(self.error.argument)
        for number, some, own in reversed(errors):
            with m.If(some):
                m.d.comb += [code.eq(int(number)), argument.eq(own)]
        any_error = Cat(some for _, some, _ in errors).any()
        m.d.sync += [
            self.error.valid.eq(any_error),
            self.error.code.eq(code),
            self.error.argument.eq(argument),
        ]
        with m.If(any_error & ~self.error_count.all()):
            m.d.sync += self.error_count.eq(self.error_count + 1)

    def _registered(
        self, m: Module, code: ErrorCode, some: Value, argument: Value, times: int
    ) -> tuple[ErrorCode, Value, Value]:
        """Return an error so many cycles later."""
        for k in range(times):
            later = Signal(name=f"{code.name.lower()}_{k}")
            number = Signal(self._config.sm_bits, name=f"{code.name.lower()}_argument_{k}")
            m.d.sync += [later.eq(some), number.eq(argument)]
            some, argument = later, number
        return code, some, argument

    def _count_stalls(
        self,
        m: Module,
        places: ResidentPlaces,
        placement: PlacementPolicy,
        table: FitTable,
        ports: list[SmPort],
    ) -> None:
        """Count the cycles in which a head waits, by cause."""
        stalled = Signal()
        full = Signal()
        blocked = Signal()
        ordered = Signal()
        head = places.head
        m.d.sync += [
            stalled.eq(head.active & ~placement.decided),
            full.eq(Cat(port.in_use & (port.closed | head.barred) for port in ports).any()),
            # No block was decided: every SM that has room has a closed port.
            blocked.eq(~Cat(port.closed for port in ports).all() & ~head.barred),
            ordered.eq(places.ordered),
        ]
        causes = {
            "order": ordered,
            **{name: table.lacks[k] & stalled & full for k, name in enumerate(RESOURCES)},
            "offer": stalled & blocked,
        }
        step = Signal(len(STALL_CAUSES))
        m.d.sync += step.eq(Cat(causes[name] for name in STALL_CAUSES))
        counters = WideCounters(len(STALL_CAUSES), timing(self._config).stall_counter_bits)
        m.submodules.stalls = counters
        m.d.comb += counters.step.eq(step)
        for name, value in zip(STALL_CAUSES, counters.values, strict=True):
            m.d.comb += getattr(self, f"stall_{name}").eq(value)
