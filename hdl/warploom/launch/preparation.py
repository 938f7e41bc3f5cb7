"""A head on its way to the dispatcher: its indices are looked up or made, then it starts."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, layouts, queue_packets
from warploom_spec.queue import Mode
from warploom_spec.resident_packets import resident_entry_bits, resident_plan, resident_start


class Preparation(wiring.Component):
    """Hold one head at a time; cancel it where only another launch's release can help.

    Rules 22 and 23 of ``docs/launch/kernel_queue.md``. A decision that comes with the cancel, or
    a cycle later, counts.

    Parameters
    ----------
    config : Config
        ``makes_indices`` and widths.
    """

    enters: Signal
    chosen: Signal
    chosen_stream: Signal
    chosen_entry: Signal
    plan_entry: Signal
    needs_release: Signal
    cancel: Signal
    empties: Signal
    empty: Signal
    preparing: Signal
    returns: Signal
    starts: Signal
    mode: Signal
    idempotent: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        streams, entry = 1 << config.stream_bits, resident_entry_bits(config)
        ports: dict[str, Any] = {
            # The head that enters: its stream, one-hot and number, and its entry.
            "enters": In(1),
            "chosen": In(streams),
            "chosen_stream": In(config.stream_bits),
            "chosen_entry": In(entry),
            # The plan's address, and the plan a cycle later.
            "plan_entry": Out(entry),
            "plan": In(resident_plan(config).layout()),
            "start": Out(stream.Signature(resident_start(config).layout())),
            # Preparation is empty; it is at the end of this cycle.
            "empty": Out(1),
            "empties": Out(1),
            # One-hot: the head that is here, that is cancelled, that starts.
            "preparing": Out(streams),
            "returns": Out(streams),
            "starts": Out(streams),
            # What starts.
            "mode": Out(queue_packets.QUEUE_MODE_BITS),
            "idempotent": Out(1),
            "entry": Out(max(1, config.entry_bits)),
        }
        if config.makes_indices:
            decision = layouts.index_decision(config).layout()
            ports |= {
                "request": Out(stream.Signature(layouts.index_config(config).layout())),
                "needs_release": In(1),
                "cancel": Out(1),
                "decision": In(stream.Signature(decision)),
            }
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        here, prepared, drops, started = (
            Signal(name=name) for name in ("here", "prepared", "drops", "started")
        )
        streams = len(self.chosen)
        own_stream, own_entry = (
            Signal.like(self.chosen_stream, name="own_stream"),
            Signal.like(self.chosen_entry, name="own_entry"),
        )
        m.d.comb += [
            ports.start.valid.eq(prepared),
            started.eq(prepared & ports.start.ready),
            self.starts.eq(self.preparing & started.replicate(streams)),
            self.returns.eq(self.preparing & drops.replicate(streams)),
            self.empty.eq(~here),
            self.empties.eq(~here | started),
            self.plan_entry.eq(Mux(here & ~prepared, own_entry, self.chosen_entry)),
        ]
        with m.If(self.enters):
            m.d.sync += [
                here.eq(1),
                self.preparing.eq(self.chosen),
                own_stream.eq(self.chosen_stream),
                own_entry.eq(self.chosen_entry),
            ]
        with m.Elif(started | drops):
            m.d.sync += [here.eq(0), self.preparing.eq(0)]
        with m.If(started):
            m.d.sync += prepared.eq(0)
        if self._config.makes_indices:
            self._indices(m, here, prepared, started, drops)
        else:
            with m.Elif(here):
                m.d.sync += prepared.eq(1)
        self._keep(m, here & ~prepared, own_stream, own_entry)
        return m

    def _indices(
        self, m: Module, here: Signal, prepared: Signal, started: Signal, drops: Signal
    ) -> None:
        """Ask for the indices, and take the decision or give up."""
        ports: Any = self
        asked, cancelled = Signal(name="asked"), Signal(name="cancelled")
        request, decision = ports.request, ports.decision
        m.d.comb += [
            request.valid.eq(here & ~asked & ~prepared),
            decision.ready.eq(1),
            drops.eq(cancelled & asked & ~decision.valid),
            *(
                request.payload[name].eq(ports.plan["index_address" if name == "address" else name])
                for name in request.payload.shape().members
            ),
        ]
        m.d.sync += [
            self.cancel.eq(
                asked & self.needs_release & ~decision.valid & ~self.cancel & ~cancelled
            ),
            cancelled.eq(self.cancel),
        ]
        with m.If(request.valid & request.ready):
            m.d.sync += asked.eq(1)
        with m.Elif(drops):
            m.d.sync += asked.eq(0)
        with m.Elif(asked & decision.valid):
            m.d.sync += [asked.eq(0), prepared.eq(1), ports.entry.eq(decision.payload.entry)]

    def _keep(self, m: Module, takes: Any, own_stream: Signal, own_entry: Signal) -> None:
        """Keep what the start says: the plan is read for the next head meanwhile."""
        ports: Any = self
        start: Any = Signal(ports.start.payload.shape(), name="kept")
        plan = ports.plan
        own = {"stream": own_stream, "entry": own_entry, "wait_mode": plan.mode == Mode.WAIT}
        with m.If(takes):
            m.d.sync += [
                *(
                    start[name].eq(own[name] if name in own else plan[name])
                    for name in start.shape().members
                ),
                self.mode.eq(plan.mode),
                self.idempotent.eq(plan.idempotent),
            ]
        m.d.comb += ports.start.payload.eq(start)
