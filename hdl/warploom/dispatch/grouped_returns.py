"""Reports of groups of SMs: each group holds one behind its ports, and one is granted a cycle."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from warploom.dispatch.policies._rotating import first_ahead, rotating
from warploom.dispatch.returns import Returns
from warploom.lib.bits import number_of
from warploom.lib.pipes import held
from warploom_spec.resident_limits import sm_groups


def _one_of(choice: Value, words: list[Any]) -> Value:
    """Return the chosen word; 0 without a choice."""
    bits = len(words[0])
    return Cat(
        *(
            Cat(*(word[bit] & choice[n] for n, word in enumerate(words))).any()
            for bit in range(bits)
        )
    )


class GroupedReturns(Returns):
    """Hold a report of each SM, one of each group, and grant one a cycle, in turn.

    Rule 35 (e) of ``docs/dispatch/block_dispatcher.md``.
    """

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        sms_of = sm_groups(len(self.report))
        groups = len(sms_of)
        holds, grant = Signal(groups, name="holds"), Signal(groups, name="grant")
        bodies = [self._group(m, n, sms_of[n], holds[n], grant[n]) for n in range(groups)]
        found = rotating(m, "group", holds, self.granted)
        body = _one_of(grant, bodies)
        m.d.comb += [
            self.granted.eq(holds.any() & ~self.steal),
            grant.eq(found & (~self.steal).replicate(groups)),
            Cat(self.sm, Value.cast(self.body)).eq(body),
        ]
        return m

    def _group(self, m: Module, group: int, sms: range, holds: Value, granted: Value) -> Signal:
        """Take a group's reports, one in three cycles; return the SM and report that it holds."""
        ports = [self.report[n] for n in sms]
        waits, rests = (Signal(len(ports), name=f"{name}_{group}") for name in ("waits", "rests"))
        words = [
            Signal(len(Value.cast(self.body)), name=f"report_{group}_{n}", reset_less=True)
            for n in range(len(ports))
        ]
        takes = ~holds & ~held(m, f"held_before_{group}", holds, clear=C(0, 1))
        first, found = first_ahead(m, f"report_{group}", waits, takes)
        body = Signal(len(self.sm) + len(words[0]), name=f"body_{group}", reset_less=True)
        m.d.sync += [
            holds.eq((takes & found) | (holds & ~granted)),
            rests.eq(first & takes.replicate(len(ports))),
        ]
        with m.If(takes):
            m.d.sync += [
                body[: len(self.sm)].eq(number_of(first, sms)),
                body[len(self.sm) :].eq(_one_of(first, words)),
            ]
        for n, port in enumerate(ports):
            m.d.comb += port.ready.eq(~(waits[n] | rests[n]))
            m.d.sync += waits[n].eq(
                Mux(waits[n], ~(first[n] & takes), port.valid & ~rests[n] & ~self.boot)
            )
            with m.If(~waits[n]):
                m.d.sync += words[n].eq(Value.cast(port.payload))
        return body
