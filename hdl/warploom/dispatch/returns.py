"""Reports of all SMs, one a cycle, and the rows of a boot or sweep between them."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch.policies._rotating import rotating
from warploom.lib.bits import number_of
from warploom_spec import Config, layouts


class Returns(wiring.Component):
    """Hold a report of each SM, and grant one a cycle, in turn.

    A report that transfers in t is granted in t + 1 at the earliest. An SM's next report is taken
    in t + 3 at the earliest. Rule 25 of ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        ``sms``, ``block_slots``.
    """

    report: list[stream.Interface]
    boot: Signal
    steal: Signal
    granted: Signal
    sm: Signal
    body: "data.View[data.StructLayout]"

    def __init__(self, config: Config) -> None:
        self._config = config
        packet = layouts.block_report(config).layout()
        super().__init__(
            {
                # Of each SM.
                "report": In(stream.Signature(packet)).array(config.sms),
                # Reports are dropped; no report is granted.
                "boot": In(1),
                "steal": In(1),
                # A report is granted: its SM (0 without one), and itself (0 without one).
                "granted": Out(1),
                "sm": Out(config.sm_bits),
                "body": Out(packet),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        sms = self._config.sms
        waits, rests, grant = (Signal(sms, name=name) for name in ("waits", "rests", "grant"))
        bodies = [
            Signal(len(Value.cast(self.body)), name=f"report_{n}", reset_less=True)
            for n in range(sms)
        ]
        found = rotating(m, "report", waits, self.granted) if sms > 1 else waits
        m.d.comb += [
            self.granted.eq(waits.any() & ~self.steal),
            grant.eq(found & (~self.steal).replicate(sms)),
            self.sm.eq(number_of(grant) if sms > 1 else C(0, 1)),
            Value.cast(self.body).eq(
                Cat(
                    *(
                        Cat(*(bodies[n][bit] & grant[n] for n in range(sms))).any()
                        for bit in range(len(bodies[0]))
                    )
                )
            ),
        ]
        m.d.sync += rests.eq(grant)
        for n, port in enumerate(self.report):
            m.d.comb += port.ready.eq(~(waits[n] | rests[n]))
            m.d.sync += waits[n].eq(Mux(waits[n], ~grant[n], port.valid & ~rests[n] & ~self.boot))
            with m.If(~waits[n]):
                m.d.sync += bodies[n].eq(Value.cast(port.payload))
        return m
