"""Splits a task among cores, and waits for all of them."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import lowest_number
from warploom_spec import Config, host_packets
from warploom_spec.host_errors import HostError

STRAY_BITS = 16


def cores_signature(config: Config) -> wiring.Signature:
    """Return what stands between a unit and its cores, seen from the unit."""
    cores = config.cores_per_unit
    return wiring.Signature(
        {
            # Parts, the first a cycle after `run`, then one a cycle.
            "start": Out(stream.Signature(host_packets.core_start(config).layout())),
            # Code and arguments of the task, while `busy` is 1 or a start is valid.
            "code": Out(64),
            "arguments": Out(64),
            # Levels; `failed` wins.
            "arrived": In(cores),
            "failed": In(cores),
            # Code of the lowest failed core.
            "failure": In(host_packets.FAILURE_BITS),
            # Always taken; ignored while no task runs.
            "result": In(stream.Signature(host_packets.core_result(config).layout())),
            # Pulses: the barrier opens; the task is over.
            "barrier_open": Out(1),
            "cancel": Out(1),
        }
    )


class ExecutionUnit(wiring.Component):
    """Give each core its part of a task, wait at a barrier for all, and report.

    Parameters
    ----------
    config : Config
        ``cores_per_unit`` and ``core_timeout``.
    """

    run: "data.View[data.StructLayout]"
    cores: Any
    reset: Signal
    done: "data.View[data.StructLayout]"
    error: "data.View[data.StructLayout]"
    result: "data.View[data.StructLayout]"
    busy: Signal
    missing: Signal
    strays: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        self._cores = config.cores_per_unit
        super().__init__(
            {
                # Pulse: begin a task. Comes only while `busy` is 0 and no core is missing.
                "run": In(host_packets.unit_run(config).layout()),
                "cores": Out(cores_signature(config)),
                # Pulse; wins over everything in its cycle.
                "reset": In(1),
                # Pulse, two cycles after the last arrival; `error` in the next cycle.
                "done": Out(host_packets.unit_done(config).layout()),
                "error": Out(host_packets.unit_error(config).layout()),
                # Pulse, a cycle after a core's result word.
                "result": Out(host_packets.unit_result(config).layout()),
                # A task runs.
                "busy": Out(1),
                # A core had not arrived at an earlier task's time-out, and has not since; a cycle
                # late.
                "missing": Out(1),
                # Arrivals of cores without a part; stays at its highest value.
                "strays": Out(STRAY_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        begins = Signal()
        ends = Signal()
        m.d.comb += begins.eq(self.run.valid & ~self.reset)
        # A bit for each core: its start was valid; its start was taken; it has arrived; its part
        # succeeded; it has not arrived since a time-out.
        assigned, taken, ended, good, absent = (
            Signal(self._cores, name=name)
            for name in ("assigned", "taken", "ended", "good", "absent")
        )
        time_over = Signal()
        expired = Signal()
        all_sent = self._split(m, begins, assigned, taken, absent, time_over)
        self._expire(m, ends, time_over, expired)
        here = Signal(self._cores)
        arrives = Signal(self._cores)
        m.d.comb += [
            here.eq(self.cores.arrived | self.cores.failed),
            arrives.eq(here & taken & ~ended & ~absent & self.busy.replicate(self._cores)),
        ]
        m.d.sync += [ended.eq(ended | arrives), good.eq(good | (arrives & ~self.cores.failed))]
        # Cleared between tasks, so that the begin of a task need not reach them.
        with m.If(~self.busy):
            m.d.sync += [ended.eq(0), good.eq(0)]
        late = assigned & ~ended
        complete = Signal()
        settled = Signal()
        # Counted a cycle ahead: in the cycle before `all_sent` and in all later ones no core is
        # assigned any more.
        m.d.sync += settled.eq(~(late & ~arrives).any())
        m.d.comb += [
            complete.eq(all_sent & settled),
            ends.eq(self.busy & (complete | expired) & ~self.reset),
        ]
        with m.If(begins):
            m.d.sync += self.busy.eq(1)
        with m.Elif(ends | self.reset):
            m.d.sync += self.busy.eq(0)
        self._watch_missing(m, here, taken, absent, Mux(ends & ~complete, late, 0), ends)
        self._report(m, ends, good, assigned)
        self._explain(m, arrives, complete, late)
        self._pass_results(m)
        self._count_strays(m, here, taken, absent)
        return m

    def _split(
        self,
        m: Module,
        begins: Value,
        assigned: Signal,
        taken: Signal,
        absent: Signal,
        time_over: Value,
    ) -> Signal:
        """Send the parts, none more from ``time_over`` on; return whether all were taken."""
        run, start = self.run, self.cores.start
        part: Any = Signal(start.payload.shape(), name="part", reset_less=True)
        valid = Signal(name="start_valid")
        # The core at `start`, one-hot.
        core = Signal(self._cores, name="start_core", reset_less=True)
        # Of the part after the one at `start`: its number plus 1, and whether it is a larger one.
        following = Signal(host_packets.PARTS_BITS, reset_less=True)
        is_larger = Signal(reset_less=True)
        larger = Signal(host_packets.PARTS_BITS, reset_less=True)
        small = Signal(32, reset_less=True)
        # Parts after the one at `start`, and whether there are any.
        left = Signal(host_packets.PARTS_BITS, reset_less=True)
        any_left = Signal()
        all_sent = Signal()
        moves = Signal()
        more = Signal()
        task = Signal(host_packets.TASK_NUMBER_BITS)
        m.d.comb += [
            start.payload.eq(part),
            start.payload.task.eq(task),
            start.valid.eq(valid),
            moves.eq(valid & start.ready),
            # A task that is complete sends nothing: its end need not be asked for here.
            more.eq(any_left & self.busy & ~time_over),
        ]
        with m.If(moves):
            m.d.sync += [
                taken.eq(taken | core),
                valid.eq(more),
                any_left.eq(any_left & (left != 1)),
                all_sent.eq(~any_left),
                # After the last part these mean nothing.
                left.eq(left - 1),
                core.eq(core << 1),
                following.eq(following + 1),
                part.core.eq(part.core + 1),
                part.first.eq(part.first + part.count),
                part.count.eq(small + is_larger),
                is_larger.eq(following < larger),
            ]
            with m.If(more):
                m.d.sync += assigned.eq(assigned | (core << 1))
        # No task runs, and no start of a timed-out one stands: a `run` that may come late in the
        # cycle finds its fields taken already.
        with m.If(~(self.busy | valid)):
            first_core = Cat(~run.skip_primary, run.skip_primary)
            m.d.sync += [
                self.cores.code.eq(run.code),
                self.cores.arguments.eq(run.arguments),
                any_left.eq(run.parts != 1),
                all_sent.eq(0),
                assigned.eq(first_core),
                core.eq(first_core),
                left.eq(run.parts - 1),
                following.eq(2),
                is_larger.eq(run.larger[1:].any()),
                larger.eq(run.larger),
                small.eq(run.small),
                part.core.eq(run.skip_primary),
                part.first.eq(run.first),
                part.count.eq(run.small + run.larger.any()),
            ]
        with m.If(self.run.valid):
            m.d.sync += task.eq(task + 1)
        # A missing core that was started may still arrive late.
        with m.If(self.reset | ~(self.busy | absent.any())):
            m.d.sync += taken.eq(0)
        with m.If(self.reset):
            m.d.sync += valid.eq(0)
        with m.Elif(begins):
            m.d.sync += valid.eq(1)
        return all_sent

    def _expire(self, m: Module, ends: Value, time_over: Signal, expired: Signal) -> None:
        """Tell from which cycle on it is too late, and that this was so a cycle ago."""
        limit = self._config.core_timeout
        if limit:
            left = Signal(range(limit + 1), name="time_left")
            m.d.sync += [
                time_over.eq(((left == 1) | time_over) & self.busy),
                expired.eq(self.busy & time_over & ~ends & ~self.reset),
            ]
            with m.If(~self.busy):
                m.d.sync += left.eq(limit)
            with m.Elif(left != 0):
                m.d.sync += left.eq(left - 1)

    def _watch_missing(
        self,
        m: Module,
        here: Value,
        taken: Signal,
        absent: Signal,
        left_behind: Value,
        ends: Signal,
    ) -> None:
        """Keep the missing cores, answer their late arrivals, open the barrier."""
        arrives_late = Signal(self._cores)
        m.d.comb += arrives_late.eq(absent & taken & here)
        m.d.sync += [
            absent.eq((absent & ~arrives_late) | left_behind),
            self.missing.eq(absent.any() & ~self.reset),
            self.cores.barrier_open.eq((ends | arrives_late.any()) & ~self.reset),
            self.cores.cancel.eq(self.reset),
        ]
        with m.If(self.reset):
            m.d.sync += absent.eq(0)

    def _report(self, m: Module, ends: Value, good: Value, assigned: Value) -> None:
        """Register the task's end."""
        done: Any = Signal(self.done.shape(), name="ended_task", reset_less=True)
        valid = Signal(name="done_valid")
        m.d.comb += [self.done.eq(done), self.done.valid.eq(valid)]
        m.d.sync += [
            valid.eq(ends | (self.reset & (self.busy | self.run.valid))),
            done.status.eq(good),
            done.assigned.eq(assigned),
            done.task.eq(self.cores.start.payload.task + (self.reset & self.run.valid)),
        ]
        # The registers' reset, no gate for each bit.
        with m.If(self.reset):
            m.d.sync += [done.status.eq(0), done.assigned.eq(0)]

    def _explain(self, m: Module, arrives: Signal, complete: Value, late: Value) -> None:
        """Say why a task ended as it did, a cycle behind its end.

        The first cores that failed are noted, and the lowest of them is looked for a cycle later.
        """
        some = Signal(name="some_failed")
        core = Signal(host_packets.CORE_BITS, name="failed_core", reset_less=True)
        code = Signal(host_packets.FAILURE_BITS, name="failed_code", reset_less=True)
        failing = Signal(self._cores)
        failure = Signal(host_packets.FAILURE_BITS, name="noted_failure", reset_less=True)
        m.d.sync += [failing.eq(arrives & self.cores.failed), failure.eq(self.cores.failure)]
        # In the first cycle after a task its failure is looked at for the last time.
        m.d.sync += some.eq((some | failing.any()) & self.busy)
        with m.If(~some):
            m.d.sync += [core.eq(lowest_number(failing)), code.eq(failure)]
        was_complete = Signal(reset_less=True)
        by_reset = Signal(reset_less=True)
        latest = Signal(host_packets.CORE_BITS, name="lowest_late_core", reset_less=True)
        m.d.sync += [
            was_complete.eq(complete),
            by_reset.eq(self.reset),
            latest.eq(lowest_number(late)),
        ]
        error: Any = Signal(self.error.shape(), name="explanation")
        m.d.comb += self.error.eq(error)
        with m.If(by_reset):
            m.d.sync += [error.code.eq(HostError.RESET), error.core.eq(0), error.argument.eq(0)]
        with m.Elif(~was_complete):
            m.d.sync += [
                error.code.eq(HostError.CORE_TIMEOUT),
                error.core.eq(latest),
                error.argument.eq(0),
            ]
        with m.Elif(some):
            m.d.sync += [
                error.code.eq(HostError.CORE_FAILED),
                error.core.eq(core),
                error.argument.eq(code),
            ]
        with m.Else():
            m.d.sync += error.eq(0)

    def _pass_results(self, m: Module) -> None:
        """Register a result word of the task that runs."""
        word: Any = Signal(self.result.shape(), name="result_word", reset_less=True)
        valid = Signal(name="result_valid")
        given = self.cores.result
        m.d.comb += [
            given.ready.eq(1),
            self.result.eq(word),
            self.result.valid.eq(valid),
        ]
        m.d.sync += [
            valid.eq(given.valid & self.busy),
            word.word.eq(given.payload.word),
            word.data.eq(given.payload.data),
        ]

    def _count_strays(self, m: Module, here: Value, taken: Signal, absent: Signal) -> None:
        """Count the cycles with arrivals of cores that had no part, a cycle later."""
        before = Signal(self._cores, name="here_before")
        some = Signal(name="some_strays")
        started = taken & self.busy.replicate(self._cores)
        m.d.sync += [
            before.eq(here),
            some.eq((here & ~before & ~started & ~absent).any()),
        ]
        with m.If(some & ~self.strays.all()):
            m.d.sync += self.strays.eq(self.strays + 1)
