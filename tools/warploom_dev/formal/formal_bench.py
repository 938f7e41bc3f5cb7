"""A block with free inputs, what may be assumed of them, and what must hold in every cycle."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from amaranth.hdl import C, Cat, ClockDomain, Module, Mux, Shape, Signal, Value, unsigned
from amaranth.lib import stream, wiring

from warploom_dev.planted import Change, PlantedBlock
from warploom_spec import Config


@dataclass(frozen=True)
class Check:
    """What holds in every cycle, and what shows that its proof can fail.

    Attributes
    ----------
    name : str
        One word or more, of this bench alone.
    text : str
        What holds, in a sentence.
    fault : str
        A seeded bug with which it does not hold.
    cover : str
        Its interesting case, which must be reachable.
    bound : int or None
        None: proved for all time; else for so many cycles from power-on.
    slow : bool
        Whether proof, cover and seeded bug take more than a few seconds.
    """

    name: str
    text: str
    fault: str
    cover: str
    bound: int | None
    slow: bool


@dataclass(frozen=True)
class Assumption:
    """What is taken as given of an input, and who is checked for it.

    Attributes
    ----------
    name : str
        One word or more, of this bench alone.
    text : str
        What is given, in a sentence.
    source : str
        ``bench.check`` that states it of the block that drives the input, or `THE_CORE`.
    """

    name: str
    text: str
    source: str


#: Source of an assumption on what a builder's core drives: no block here is checked for it.
THE_CORE: Final = "the core"
#: Before a stream's name: the seeded bug that the block never sees it refused.
DEAF: Final = "deaf_"


class FormalBench:
    """One block under proof.

    Every input that is asked for with `free` takes any value in any cycle, the reset among them. A
    register of the bench is reset with the block unless it says otherwise.

    Parameters
    ----------
    block : str
        The block's name.
    config : Config
        How large it is.
    size : str
        The same in words, for the table.
    fault : str, optional
        The seeded bug.
    planted : mapping of str to Change
        Seeded bugs that stand in the block's source while it is elaborated; the others are the
        bench's.

    Attributes
    ----------
    m : Module
        Holds the block and the properties' registers.
    inputs : dict of str to Signal
        The free inputs by name, without the reset.
    checks : dict of str to Check
        In the order in which they were made.
    assumptions : dict of str to Assumption
        Likewise.
    narrowed : dict of str to dict of str to tuple of int
        For each packet of which not all bits are free, by its port: each such field's free bits and
        its width.
    violations, reached : Signal
        One bit for each check, and for its cover, in that order; filled in by `close`.
    """

    def __init__(
        self,
        block: str,
        config: Config,
        size: str,
        fault: str | None,
        planted: Mapping[str, Change] | None = None,
    ) -> None:
        self.block, self.config, self.size, self.fault = block, config, size, fault
        self._planted = (planted or {}).get(fault or "")
        self.m = Module()
        # The stubs do not know that a clock domain has a clock and a reset.
        self._domain: Any = ClockDomain("sync")
        self.m.domains.sync = self._domain
        self.inputs: dict[str, Signal] = {}
        self.checks: dict[str, Check] = {}
        self.assumptions: dict[str, Assumption] = {}
        self.narrowed: dict[str, dict[str, tuple[int, int]]] = {}
        self._given: list[Value] = []
        self._holds: dict[str, Value] = {}
        self._covers: dict[str, Value] = {}
        self._later = self.register(1, "later", keeps=True)
        self.m.d.sync += self._later.eq(1)

    def register(self, shape: Any, name: str, *, keeps: bool = False) -> Any:
        """Return a register of the bench; with ``keeps`` a reset leaves it alone."""
        return Signal(shape, name=f"bench_{name}", reset_less=keeps)

    def value(self, value: Any, name: str, shape: Any = None) -> Any:
        """Give a value a name and a shape, its own unless another is given."""
        named: Any = Signal(value.shape() if shape is None else shape, name=f"bench_{name}")
        self.m.d.comb += named.eq(value)
        return named

    def free(self, shape: Any, name: str) -> Signal:
        """Return an input that takes any value in any cycle."""
        if name in self.inputs:
            raise ValueError(f"{name} is a free input already")
        self.inputs[name] = signal = Signal(Shape.cast(shape), name=f"free_{name}")
        return signal

    def constant(self, shape: Any, name: str) -> Signal:
        """Return a value that may be any one, and is the same in all cycles."""
        given = self.free(shape, name)
        kept = self.register(Shape.cast(shape), f"kept_{name}", keeps=True)
        value = Signal(Shape.cast(shape), name=f"constant_{name}")
        self.m.d.comb += value.eq(Mux(self._later, kept, given))
        self.m.d.sync += kept.eq(value)
        return value

    def drive(self, component: wiring.Component, **narrow: Any) -> None:
        """Let every input of the block be free, by its flattened name.

        Parameters
        ----------
        component : Component
            The block; added to the module as ``dut``.
        **narrow : dict of str to int, or Value or int
            What is not free: for a port, by its flattened name, its value, or `partly`'s masks.
        """
        dut = PlantedBlock(component, self._planted) if self._planted else component
        self.m.submodules.dut = dut
        for path, member, port in component.signature.flatten(component):
            if member.flow is not wiring.In:
                continue
            name = "__".join(str(part) for part in path)
            limits = narrow.pop(name, None)
            if limits is None and self.fault == DEAF + name.removesuffix("__ready"):
                self._free_port(member.shape, name)
                self.m.d.comb += Value.cast(port).eq(1)
            elif limits is None:
                self.m.d.comb += Value.cast(port).eq(self._free_port(member.shape, name))
            elif isinstance(limits, dict):
                self.m.d.comb += port.eq(self.partly(member.shape, limits, name, self.free))
            else:
                self.m.d.comb += Value.cast(port).eq(limits)
        if narrow:
            raise ValueError(f"no input is called {', '.join(narrow)}")

    def _free_port(self, shape: Any, name: str) -> Signal:
        """Return a port's free input, which may have been asked for before."""
        return self.inputs[name] if name in self.inputs else self.free(shape, name)

    def partly(
        self,
        layout: Any,
        masks: dict[str, int],
        name: str,
        source: Callable[[Any, str], Signal],
        *,
        port: str = "",
    ) -> Any:
        """Return a packet of which some bits are free; all others are 0.

        Parameters
        ----------
        layout : StructLayout
            The packet.
        masks : dict of str to int
            For a field the mask of its free bits.
        name : str
            Its name.
        source : callable
            `free` or `constant`.
        port : str
            Where it comes in, if that is not its name; `narrowed` tells of what is `free`.
        """
        # Of a layout's signal the stubs do not know that it is a view.
        packet: Any = Signal(layout, name=f"partly_{name}")
        for field, mask in masks.items():
            bits = source(mask.bit_count(), f"{name}__{field}")
            places = [k for k in range(mask.bit_length()) if mask >> k & 1]
            self.m.d.comb += [packet[field][k].eq(bits[n]) for n, k in enumerate(places)]
        if source == self.free:
            widths = {field: len(Value.cast(packet[field])) for field in layout.members}
            self.narrowed[port or name] = {
                field: (free, width)
                for field, width in widths.items()
                if (free := masks.get(field, 0).bit_count()) < width
            }
        return packet

    def assume(self, name: str, text: str, holds: Any, *, source: str) -> None:
        """Leave out of a run all from the first cycle on in which this does not hold."""
        self.assumptions[name] = Assumption(name, text, source)
        self._given.append(self._named(holds, f"assume_{name}"))

    def check(
        self,
        name: str,
        text: str,
        holds: Any,
        *,
        fault: str,
        cover: tuple[str, Any],
        bound: int | None = None,
        slow: bool = False,
    ) -> None:
        """State what holds in every cycle; see `Check`."""
        self.checks[name] = Check(name, text, fault, cover[0], bound, slow)
        self._holds[name] = self._named(holds, f"holds_{name}")
        self._covers[name] = self._named(cover[1], f"cover_{name}")

    def _named(self, value: Any, name: str) -> Value:
        # Of a wider value, such as ~x of an integer x, it would not be clear what is true.
        if Value.cast(value).shape() != unsigned(1):
            raise ValueError(f"{name} is of {Value.cast(value).shape()}, not of one bit")
        signal = Signal(name=name)
        self.m.d.comb += signal.eq(value)
        return signal

    def before(self, value: Any, name: str) -> Any:
        """Return what the value was in the cycle before; 0 in the first cycle and after a reset."""
        old = self.register(Value.cast(value).shape(), f"before_{name}")
        self.m.d.sync += old.eq(value)
        return old

    def past(self, value: Any, cycles: int, name: str) -> Any:
        """Return what the value was so many cycles before; 0 where that was before a reset."""
        for k in range(cycles):
            value = self.before(value, f"{name}_{k}")
        return value

    def first(self, port: stream.Interface | Any, name: str) -> Value:
        """Return whether a stream's packet shows for the first time: it does not stand refused.

        Parameters
        ----------
        port : stream.Interface
            An output of the block.
        name : str
            Its flattened name; its ``ready`` is a free input, made now if it is not there.
        """
        ready = self._free_port(1, f"{name}__ready")
        stood = self.before(port.valid & ~ready, f"{name}_stood")
        new: Value = self.value(port.valid & ~stood, f"{name}_new")
        return new

    def check_held(
        self,
        port: stream.Interface | Any,
        name: str,
        *,
        check: str | None = None,
        unless: Value | None = None,
        bound: int | None = None,
        slow: bool = False,
    ) -> None:
        """State that a stream keeps what is refused.

        The seeded bug is a block that is deaf: it sees ``ready`` as 1, whatever its taker says.

        Parameters
        ----------
        port : stream.Interface
            An output stream of the block that `drive` has connected.
        name : str
            Its flattened name.
        check : str
            The check's name; else that of the stream, and ``_held``.
        unless : Value
            Sampled in the cycle of the refusal: 1 lets it go.
        bound, slow : int or None, bool
            As of a `Check`.
        """
        ready = self.inputs[f"{name}__ready"]
        free = C(0, 1) if unless is None else unless
        refused = self.before(port.valid & ~ready & ~free, f"{name}_refused")
        payload = Value.cast(port.payload)
        count = self.register(2, f"{name}_refusals")
        self.m.d.sync += count.eq(Mux(port.valid & ~ready, count + ~count.all(), 0))
        self.check(
            check or f"{name}_held",
            f"`{name}` is held while it is refused",
            ~refused | (port.valid & (payload == self.before(payload, f"{name}_payload"))),
            fault=f"{DEAF}{name}",
            cover=("it is refused twice and then taken", port.valid & ready & (count == 2)),
            bound=bound,
            slow=slow,
        )

    @property
    def clock(self) -> Signal:
        """The clock."""
        clock: Signal = self._domain.clk
        return clock

    @property
    def reset(self) -> Signal:
        """The reset: a free input."""
        reset: Signal = self._domain.rst
        return reset

    def close(self) -> "FormalBench":
        """Add the two outputs; nothing more may be stated afterwards."""
        self.violations = Signal(len(self.checks), name="violations")
        self.reached = Signal(len(self.checks), name="reached")
        for k, check in enumerate(self.checks.values()):
            kept = self._so_far(self._given, f"{k}") if self._given else 1
            self.m.d.comb += self.violations[k].eq(kept & ~self._holds[check.name])
            self.m.d.comb += self.reached[k].eq(kept & self._covers[check.name])
        return self

    def _so_far(self, given: list[Value], name: str) -> Value:
        """Whether all have held from power-on to this very cycle."""
        broken = self.register(1, f"broken_{name}", keeps=True)
        self.m.d.sync += broken.eq(broken | ~Cat(given).all())
        kept: Value = ~broken & Cat(given).all()
        return kept
