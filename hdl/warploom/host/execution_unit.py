"""Splits a task among cores, and waits for all of them."""

from typing import Any

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.unnamed import UNNAMED
from warploom_spec import Config, host_packets
from warploom_spec.host_errors import HostError

STRAY_BITS = 16


def _lowest(mask: Value) -> Value:
    """Return the number of the lowest bit that is 1; 0 if none is."""
    number: Value = C(0, host_packets.CORE_BITS)
    for place in reversed(range(len(mask))):
        number = Mux(mask[place], place, number)
    return number


class ExecutionUnit(wiring.Component):
    """Give each core its part of a task, wait at a barrier for all, and report.

    Parameters
    ----------
    config : Config
        ``cores_per_unit`` and ``core_timeout``.
    """

    run: "data.View[data.StructLayout]"
    start: stream.Interface
    code: Signal
    arguments: Signal
    arrived: Signal
    failed: Signal
    failure: Signal
    result: stream.Interface
    release: Signal
    cancel: Signal
    reset: Signal
    done: "data.View[data.StructLayout]"
    word: "data.View[data.StructLayout]"
    busy: Signal
    missing: Signal
    strays: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        self._cores = cores = config.cores_per_unit
        super().__init__(
            {
                # Pulse: begin a task. Comes only while `busy` and `missing` are 0.
                "run": In(host_packets.unit_run(config).layout()),
                # Parts, the first a cycle after `run`, then one a cycle.
                "start": Out(stream.Signature(host_packets.core_start(config).layout())),
                # Code and arguments of the task, from the cycle after `run` on.
                "code": Out(64),
                "arguments": Out(64),
                # Levels; `failed` wins.
                "arrived": In(cores),
                "failed": In(cores),
                # Code of the lowest failed core.
                "failure": In(host_packets.FAILURE_BITS),
                # Always taken; ignored while `busy` is 0.
                "result": In(stream.Signature(host_packets.core_result(config).layout())),
                # Pulses: the barrier opens; the task is over.
                "release": Out(1),
                "cancel": Out(1),
                # Pulse; wins over everything in its cycle.
                "reset": In(1),
                # Pulse, two cycles after the last arrival.
                "done": Out(host_packets.unit_done(config).layout()),
                # Pulse, a cycle after `result`.
                "word": Out(host_packets.unit_result(config).layout()),
                # A task runs; a core has not arrived since an earlier task's time-out.
                "busy": Out(1),
                "missing": Out(1),
                # Arrivals of cores without a part; stays at its highest value.
                "strays": Out(STRAY_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        begins = Signal(name=UNNAMED)
        ends = Signal()
        m.d.comb += begins.eq(self.run.valid & ~self.reset)
        # A bit for each core: its start was valid; its start was taken; it has arrived; its part
        # succeeded.
        assigned, taken, ended, good = (
            Signal(self._cores, name=name) for name in ("assigned", "taken", "ended", "good")
        )
        absent = Signal(self._cores)
        expires = Signal(name=UNNAMED)
        expired = Signal()
        all_sent = self._split(m, begins, ends, assigned, taken, expires | expired)
        self._expire(m, begins, ends, expires, expired)
        here = self.arrived | self.failed
        arrives = Signal(self._cores)
        m.d.comb += arrives.eq(here & taken & ~ended & ~absent & self.busy.replicate(self._cores))
        m.d.sync += [
            ended.eq(Mux(begins, 0, ended | arrives)),
            good.eq(Mux(begins, 0, good | (arrives & ~self.failed))),
        ]
        late = assigned & ~ended
        complete = Signal(name=UNNAMED)
        settled = Signal()
        # Counted a cycle ahead: in the cycle before `all_sent` and in all later ones no core is
        # assigned any more.
        m.d.sync += settled.eq(~(late & ~arrives).any())
        m.d.comb += [
            complete.eq(all_sent & settled),
            ends.eq(self.busy & (complete | expired) & ~self.reset),
        ]
        failing = self._first_failure(m, begins, arrives)
        self._watch_missing(m, here, taken, absent, ends, complete, late)
        self._report(m, ends, complete, good, assigned, late, failing)
        self._count_strays(m, here, taken, absent)
        with m.If(self.reset):
            m.d.sync += [assigned.eq(0), taken.eq(0), absent.eq(0), ended.eq(0)]
        return m

    def _split(
        self,
        m: Module,
        begins: Value,
        ends: Value,
        assigned: Signal,
        taken: Signal,
        over: Value,
    ) -> Signal:
        """Send the parts, none more from ``over`` on; return whether all were taken."""
        run, start = self.run, self.start
        part = Signal(8, name=UNNAMED)
        parts = Signal(8)
        larger = Signal(8, name=UNNAMED)
        small = Signal(32)
        all_sent = Signal()
        moves = Signal(name=UNNAMED)
        more = Signal()
        m.d.comb += [
            moves.eq(start.valid & start.ready),
            # A task that is complete sends nothing: its end need not be asked for here.
            more.eq((part != parts) & self.busy & ~over),
        ]
        bits = Signal(self._cores)
        m.d.comb += bits.eq(C(1, self._cores) << start.payload.core)
        with m.If(moves):
            m.d.sync += [taken.eq(taken | bits), start.valid.eq(more), part.eq(part + more)]
            with m.If(more):
                m.d.sync += [
                    assigned.eq(assigned | (bits << 1)),
                    start.payload.core.eq(start.payload.core + 1),
                    start.payload.first.eq(start.payload.first + start.payload.count),
                    start.payload.count.eq(small + (part < larger)),
                ]
            with m.Elif(part == parts):
                m.d.sync += all_sent.eq(1)
        with m.If(begins):
            m.d.sync += [
                self.busy.eq(1),
                self.code.eq(run.code),
                self.arguments.eq(run.arguments),
                parts.eq(run.parts),
                larger.eq(run.larger),
                small.eq(run.small),
                part.eq(1),
                all_sent.eq(0),
                assigned.eq(Mux(run.skip_primary, 2, 1)),
                taken.eq(0),
                start.valid.eq(1),
                start.payload.core.eq(run.skip_primary),
                start.payload.first.eq(run.first),
                start.payload.count.eq(run.small + (run.larger != 0)),
            ]
        with m.If(self.run.valid):
            m.d.sync += start.payload.task.eq(start.payload.task + 1)
        with m.If(ends | self.reset):
            m.d.sync += self.busy.eq(0)
        with m.If(self.reset):
            m.d.sync += start.valid.eq(0)
        return all_sent

    def _expire(
        self, m: Module, begins: Value, ends: Value, expires: Signal, expired: Signal
    ) -> None:
        """Tell when the time-out comes, ``expires``, and that it came a cycle ago, ``expired``."""
        limit = self._config.core_timeout
        if limit:
            left = Signal(range(limit + 1))
            m.d.comb += expires.eq(self.busy & (left == 0))
            m.d.sync += expired.eq(expires & ~begins & ~ends & ~self.reset)
            with m.If(begins):
                m.d.sync += left.eq(limit)
            with m.Elif(left != 0):
                m.d.sync += left.eq(left - 1)

    def _first_failure(self, m: Module, begins: Value, arrives: Signal) -> tuple[Signal, ...]:
        """Note the lowest of the first cores that failed: whether there is one, number, code."""
        some = Signal(name="some_failed")
        core = Signal(host_packets.CORE_BITS, name="failed_core")
        code = Signal(host_packets.FAILURE_BITS, name="failed_code")
        failing = arrives & self.failed
        with m.If(begins):
            m.d.sync += some.eq(0)
        with m.Elif(failing.any() & ~some):
            m.d.sync += [some.eq(1), core.eq(_lowest(failing)), code.eq(self.failure)]
        return some, core, code

    def _watch_missing(
        self,
        m: Module,
        here: Value,
        taken: Signal,
        absent: Signal,
        ends: Signal,
        complete: Value,
        late: Value,
    ) -> None:
        """Keep the missing cores, answer their late arrivals, open the barrier."""
        arrives_late = Signal(self._cores)
        following = Signal(self._cores)
        m.d.comb += [
            arrives_late.eq(absent & taken & here),
            following.eq(Mux(ends & ~complete, late, absent & ~arrives_late)),
        ]
        m.d.sync += [
            absent.eq(following),
            self.missing.eq(following.any() & ~self.reset),
            self.release.eq((ends | arrives_late.any()) & ~self.reset),
            self.cancel.eq(self.reset),
        ]

    def _report(
        self,
        m: Module,
        ends: Value,
        complete: Value,
        good: Value,
        assigned: Value,
        late: Value,
        failing: tuple[Signal, ...],
    ) -> None:
        """Register the task's end and the result words."""
        some, core, failure = failing
        done: Any = self.done
        m.d.sync += done.eq(0)
        with m.If(self.reset):
            with m.If(self.busy | self.run.valid):
                m.d.sync += [
                    done.valid.eq(1),
                    done.code.eq(int(HostError.RESET)),
                    done.task.eq(self.start.payload.task + self.run.valid),
                ]
        with m.Elif(ends):
            m.d.sync += [
                done.valid.eq(1),
                done.status.eq(good),
                done.assigned.eq(assigned),
                done.task.eq(self.start.payload.task),
            ]
            with m.If(~complete):
                m.d.sync += [
                    done.code.eq(int(HostError.CORE_TIMEOUT)),
                    done.core.eq(_lowest(late)),
                ]
            with m.Elif(some):
                m.d.sync += [
                    done.code.eq(int(HostError.CORE_FAILED)),
                    done.core.eq(core),
                    done.argument.eq(failure),
                ]
        word: Any = self.word
        m.d.comb += self.result.ready.eq(1)
        m.d.sync += word.eq(0)
        with m.If(self.result.valid & self.busy):
            m.d.sync += [
                word.valid.eq(1),
                word.word.eq(self.result.payload.word),
                word.data.eq(self.result.payload.data),
            ]

    def _count_strays(self, m: Module, here: Value, taken: Signal, absent: Signal) -> None:
        before = Signal(self._cores, name="here_before")
        started = taken & self.busy.replicate(self._cores)
        stray = here & ~before & ~started & ~absent
        m.d.sync += before.eq(here)
        with m.If(stray.any() & ~self.strays.all()):
            m.d.sync += self.strays.eq(self.strays + 1)
