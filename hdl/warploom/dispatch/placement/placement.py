"""The base of all placement policies: ports, and the decision."""

from typing import Any, ClassVar

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, layouts


class SwapErrors(wiring.Signature):
    """Why a swap of the order table is refused, in its own cycle.

    Members: ``range``, a position does not exist, and ``position`` is the first such one; ``busy``,
    a launch is resident.
    """

    def __init__(self, config: Config) -> None:
        super().__init__({"range": Out(1), "position": Out(config.sm_bits), "busy": Out(1)})


class PlacementPolicy(wiring.Component):
    """Choose an SM for the head among those that are eligible: the base of all policies.

    A policy is a class in a file of its name, with `choose` and, where they are needed, the class
    attributes. Ports that it does not ask for stay unconnected.

    Parameters
    ----------
    config : Config
        ``sms`` and the SM's resources.
    """

    #: The dispatcher adds up the warps on each SM.
    READS_LOADS: ClassVar[bool] = False
    #: The dispatcher tells of blocks that returned, and whether a launch is resident.
    READS_RETURNS: ClassVar[bool] = False

    wanted: Signal
    eligible: Signal
    placed: Signal
    decided: Signal
    loads: list[Signal]
    freed: Signal
    resident: Signal
    swap: stream.Interface
    refused: Any

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # A head stands that may be decided.
                "wanted": In(1),
                # SMs that it may be decided for. This input is the latest of all.
                "eligible": In(config.sms),
                # The one that it is decided for in this cycle (combinational), if any.
                "placed": Out(config.sms),
                # Whether there is one.
                "decided": Out(1),
                # With `READS_LOADS`: warps of the blocks that each SM holds.
                "loads": In(config.warp_slots.bit_length()).array(config.sms),
                # With `READS_RETURNS`: a block of the SM returned two cycles ago.
                "freed": In(config.sms),
                # With `READS_RETURNS`: a launch has started and has not ended.
                "resident": In(1),
                # With `config.has_order_table`: the dispatcher's port.
                "swap": In(stream.Signature(layouts.order_swap(config).layout())),
                # With `config.has_order_table`: why the swap is refused.
                "refused": Out(SwapErrors(config)),
            }
        )

    def choose(self, m: Module) -> Value:
        """Return one of the eligible SMs, one-hot; 0 if there is none.

        ``decided`` says whether the choice counts in this cycle.
        """
        raise NotImplementedError

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        chosen = Signal(self._config.sms)
        m.d.comb += [
            self.decided.eq(self.eligible.any() & self.wanted),
            self.placed.eq(Mux(self.wanted, chosen, 0)),
        ]
        m.d.comb += chosen.eq(self.choose(m))
        return m
