"""Which of the eligible SMs gets the next block: one component a policy."""

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import any_up_to, decoded, first_of, number_of
from warploom_spec import Config


class Placement(wiring.Component):
    """Choose an SM for the head among those that are eligible, by the configuration's policy.

    Parameters
    ----------
    config : Config
        ``sms`` and ``policy``.
    fault : str, optional
        ``"pointer"``: the pointer of ``round_robin`` stays where it is when the search wrapped.

    Attributes
    ----------
    wanted : In(1)
        A head stands that may be decided.
    eligible : In(sms)
        SMs that it may be decided for.
    placed : Out(sms)
        The one that it is decided for in this cycle (combinational), if any.
    decided : Out(1)
        Whether there is one.
    """

    wanted: Signal
    eligible: Signal
    placed: Signal
    decided: Signal

    def __init__(self, config: Config, *, fault: str | None = None) -> None:
        self._config = config
        self._fault = fault
        extra = {}
        if config.policy == "least_loaded":
            warps = config.warp_slots.bit_length()
            extra = {"loads": In(warps).array(config.sms)}
        if config.policy == "freed_first":
            extra = {
                "freed": In(config.sms),
                "resident": In(1),
                "swap": In(1),
                "first": In(config.sm_bits),
                "second": In(config.sm_bits),
                "bad_range": Out(1),
                "bad_position": Out(config.sm_bits),
                "busy": Out(1),
            }
        super().__init__(
            {
                "wanted": In(1),
                "eligible": In(config.sms),
                "placed": Out(config.sms),
                "decided": Out(1),
                **extra,
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        chosen = Signal(self._config.sms)
        m.d.comb += [
            self.decided.eq(self.eligible.any() & self.wanted),
            self.placed.eq(Mux(self.wanted, chosen, 0)),
        ]
        policy = {
            "first_fit": self._first_fit,
            "round_robin": self._round_robin,
            "least_loaded": self._least_loaded,
            "freed_first": self._freed_first,
        }
        policy[self._config.policy](m, chosen)
        return m

    def _first_fit(self, m: Module, chosen: Signal) -> None:
        m.d.comb += chosen.eq(first_of(m, "first", self.eligible))

    def _round_robin(self, m: Module, chosen: Signal) -> None:
        moves = self.decided
        m.d.comb += chosen.eq(_rotating(m, "sm", self.eligible, moves, self._fault == "pointer"))

    def _least_loaded(self, m: Module, chosen: Signal) -> None:
        number = _least(m, [(self.eligible[k], self.loads[k]) for k in range(self._config.sms)])
        least = Signal(self._config.sm_bits)
        m.d.comb += least.eq(number)
        m.d.comb += chosen.eq(
            decoded(m, "least_loaded", least, self._config.sms, self.eligible.any())
        )

    def _freed_first(self, m: Module, chosen: Signal) -> None:
        sms, bits = self._config.sms, self._config.sm_bits
        head, some = self._queue(m)
        order = Array(Signal(bits, name=f"order_{k}", init=k) for k in range(sms))
        head_fits, use_table = Signal(), Signal()
        at_head = decoded(m, "at_head", head, sms, some)
        m.d.comb += [
            head_fits.eq((self.eligible & at_head).any()),
            use_table.eq(self.decided & ~head_fits),
        ]
        by_position = Signal(sms)
        eligible = Array(self.eligible)
        m.d.comb += by_position.eq(Cat(eligible[sm] for sm in order))
        position = _rotating(m, "position", by_position, use_table)
        from_table = [
            Cat(position[k] & (order[k] == sm) for k in range(sms)).any() for sm in range(sms)
        ]
        m.d.comb += chosen.eq(Mux(head_fits, at_head, Cat(from_table)))

        bad = [position >= sms for position in (self.first, self.second)]
        m.d.comb += [
            self.bad_range.eq(self.swap & (bad[0] | bad[1])),
            self.bad_position.eq(Mux(bad[0], self.first, self.second)),
            self.busy.eq(self.swap & self.resident & ~self.bad_range),
        ]
        with m.If(self.swap & ~self.resident & ~self.bad_range):
            m.d.sync += [
                order[self.first].eq(order[self.second]),
                order[self.second].eq(order[self.first]),
            ]

    def _queue(self, m: Module) -> tuple[Value, Value]:
        """Queue numbers of SMs whose slots became free; return its head and whether it has one."""
        config = self._config
        depth = config.sms * config.block_slots
        memory: Memory = Memory(shape=config.sm_bits, depth=depth, init=[])
        m.submodules.memory = memory
        write = memory.write_port()
        read = memory.read_port(domain="comb")
        entries = Signal(range(depth + 1))
        waiting = Signal(config.sms)
        enters = Signal()
        leaves = Signal()
        empty = ~self.resident
        entering = Signal(config.sms)
        m.d.comb += [
            enters.eq((entries != depth) & waiting.any()),
            leaves.eq(self.decided & (entries != 0)),
            entering.eq(Mux(enters, _rotating(m, "waiting", waiting, enters), 0)),
            write.data.eq(number_of(entering)),
            write.en.eq(enters),
        ]
        for k in range(config.sms):
            counter = Signal(range(depth + 1), name=f"waiting_{k}")
            m.d.comb += waiting[k].eq(counter != 0)
            m.d.sync += counter.eq(Mux(empty, 0, counter + self.freed[k] - entering[k]))
        m.d.sync += entries.eq(Mux(empty, 0, entries + enters - leaves))
        for port, moves in ((write, enters), (read, leaves)):
            with m.If(empty):
                m.d.sync += port.addr.eq(0)
            with m.Elif(moves):
                m.d.sync += port.addr.eq(Mux(port.addr == depth - 1, 0, port.addr + 1))
        return read.data, entries != 0


def _rotating(m: Module, name: str, requests: Value, moves: Value, stuck: bool = False) -> Value:
    """Return the first request at or above a pointer, cyclically.

    The pointer is kept as the mask of places at and above it, none standing for place 0; with
    ``moves`` it becomes one past the request returned. Requests are late: two searches, from the
    pointer and from place 0, go side by side, and a place waits for the one that it needs.
    """
    width = len(requests)
    above = Signal(width, name=f"{name}_from_pointer")
    ahead, granted = Signal(width, name=f"{name}_ahead"), Signal(width, name=f"{name}_granted")
    up_to, ahead_up_to = (Signal(width, name=f"{name}_{w}") for w in ("up_to", "ahead_up_to"))
    some_ahead, following = Signal(name=f"{name}_some_ahead"), Signal(width)
    m.d.comb += [
        ahead.eq(requests & above),
        some_ahead.eq(ahead.any()),
        up_to.eq(any_up_to(requests)),
        ahead_up_to.eq(any_up_to(ahead)),
        following.eq(Cat(C(0, 1), Mux(some_ahead, ahead_up_to, up_to))),
        granted.eq(
            requests
            & ~Cat(
                (above[k] & ahead_up_to[k - 1]) | (~above[k] & (some_ahead | up_to[k - 1]))
                if k
                else ~above[0] & some_ahead
                for k in range(width)
            )
        ),
    ]
    if stuck:
        moves = moves & some_ahead
    with m.If(moves):
        m.d.sync += above.eq(following)
    return granted


def _least(m: Module, candidates: list[tuple[Value, Value]]) -> Value:
    """Return the number of the eligible candidate with the lowest load, the lowest of equals."""

    def better(low: int, high: int) -> tuple[Value, Value, Value]:
        if high - low == 1:
            return candidates[low][0], candidates[low][1], C(low, max(1, low.bit_length()))
        half = 1 << ((high - low - 1).bit_length() - 1)
        a_any, a_load, a_number = better(low, low + half)
        b_any, b_load, b_number = better(low + half, high)
        second = Signal(name=f"prefers_{low + half}")
        m.d.comb += second.eq(b_any & (~a_any | (b_load < a_load)))
        return a_any | b_any, Mux(second, b_load, a_load), Mux(second, b_number, a_number)

    return better(0, len(candidates))[2]
