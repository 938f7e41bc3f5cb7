"""What an event of KernelQueue decides, and what its last step changes."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.launch.launch_inbox import tag_layout
from warploom.launch.queue_engine import ABORT, ACCEPT, COMMAND, END, EVENTS, LATE, LOOK, PREEMPT
from warploom.launch.queue_engine import steps as engine_steps
from warploom.launch.stream_rows import head_layout, history_layout, state_layout, tail_layout
from warploom_spec import Config, ErrorCode, Fate, layouts, loop_packets, queue_packets
from warploom_spec.errors import ERROR_CODE_BITS
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, QueueCode
from warploom_spec.resident_packets import resident_entry_bits

#: Bits of a final record's fate that a launch's record uses.
_FATE_BITS = 2


def record_head_layout(config: Config) -> data.StructLayout:
    """Return what a record says of its launch but its times."""
    return data.StructLayout(
        {
            "entry": resident_entry_bits(config),
            "stream": config.stream_bits,
            "code": ERROR_CODE_BITS,
            "fate": _FATE_BITS,
            "kills": queue_packets.KILLS_BITS,
            "reset_as_drain": 1,
            "offered": 1,
            "preempt": 1,
        }
    )


class QueueEvents(wiring.Component):
    """Decide each event; all outputs but registers that are named so belong to its last step.

    Rules 10 to 18 and 32 of ``docs/launch/kernel_queue.md``. One event is served at a time, so
    nothing meets here.

    Parameters
    ----------
    config : Config
        Widths.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        entry, stream = resident_entry_bits(config), config.stream_bits
        streams, events = 1 << stream, len(EVENTS)
        answer = queue_packets.queue_answer(config).layout()
        of_loops: dict[str, Any] = {}
        if config.has_loops:
            of_loops = {
                # Of the launch whose entry is the record's.
                "tag": In(tag_layout(config)),
                # A quiet launch has finished: it has no record.
                "spares": Out(1),
                # A register: a launch of a loop has ended.
                "loop_end": Out(loop_packets.loop_end(config).layout()),
            }
        super().__init__(
            {
                # The engine's.
                "serves": In(events),
                "last": In(events),
                "step": In(engine_steps(config)),
                "stream": In(stream),
                "chosen": In(streams),
                "closed": In(1),
                "no_sm": In(1),
                # The stream's row.
                "head": In(head_layout(config)),
                "tail": In(tail_layout(config)),
                "state": In(state_layout(config)),
                "history": In(history_layout(config)),
                "link": In(head_layout(config)),
                "dead": In(1),
                "unreached": In(1),
                "ahead": In(1),
                "ahead_pair": In(range(max(1, config.launch_waits))),
                "accepted": In(queue_packets.WAIT_BITS),
                # The inbox: its error is 0, or why the launch is refused.
                "entry": In(entry),
                "priority": In(config.priority_bits),
                "error": In(ERROR_CODE_BITS),
                "argument": In(layouts.ARGUMENT_BITS),
                "ticket": In(layouts.TICKET_BITS),
                # One-hot: heads in preparation; residents.
                "preparing": In(streams),
                "resident": In(streams),
                # An END's run: kept from its pick on.
                "fate": In(layouts.FATE_BITS),
                "code": In(ERROR_CODE_BITS),
                "offered": In(1),
                "was_held": In(1),
                # A COMMAND clears a broken stream; else it aborts the stream, or only looks.
                "clears": In(1),
                "aborts": In(1),
                # An ABORT's entry.
                "aborted_entry": In(entry),
                "writer_busy": In(1),
                # A launch is accepted; one is refused; a head passes; a run ends, and its launch
                # runs again; a launch that waits dies; a resident one is to be stopped.
                "accepts": Out(1),
                "refuses": Out(1),
                "passes": Out(1),
                "ends": Out(1),
                "again": Out(1),
                "finished": Out(1),
                "dies": Out(1),
                "stops": Out(1),
                # The launch in the inbox is linked; the head waits for a stream.
                "links": Out(1),
                "waits": Out(1),
                "writes_head": Out(1),
                "next_head": Out(head_layout(config)),
                "next_tail": Out(tail_layout(config)),
                "writes_state": Out(1),
                "next_state": Out(state_layout(config)),
                "sets_ready": Out(1),
                "clears_ready": Out(1),
                "sets_live": Out(1),
                "clears_live": Out(1),
                "looks": Out(1),
                # An entry is given back.
                "gives": Out(1),
                "given": Out(entry),
                # An entry is in use no more.
                "retires": Out(1),
                "records": Out(1),
                "record": Out(record_head_layout(config)),
                # A register: a cycle after the last step.
                "answer": Out(answer),
                **of_loops,
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        # As they were in the cycle after the pick, and behind the next one.
        closed, no_sm, preparing, resident = (
            Signal(name=f"{name}_then") for name in ("closed", "no_sm", "preparing", "resident")
        )
        with m.If(ports.step[0]):
            m.d.sync += [closed.eq(ports.closed), no_sm.eq(ports.no_sm)]
        with m.If(ports.step[1]):
            m.d.sync += [
                preparing.eq((ports.preparing & ports.chosen).any()),
                resident.eq((ports.resident & ports.chosen).any()),
            ]
        self._accept(m, closed, no_sm)
        final, fate = self._end(m, closed, no_sm)
        look = self._look(m, closed, no_sm, preparing, resident)
        m.d.comb += ports.passes.eq(look["passes"] | (ports.last[END] & final))
        self._abort(m, preparing, resident)
        after = self._state(m, resident)
        self._lists(m, look, after, closed, no_sm)
        self._record(m, look, fate)
        return m

    def _accept(self, m: Module, closed: Signal, no_sm: Signal) -> None:
        """Judge the launch in the inbox; rules 10 to 12."""
        ports: Any = self
        wrong, taken = Signal(name="wrong_priority"), Signal(name="taken")
        bad = Signal(name="bad")
        accept, state, answer = ports.last[ACCEPT], ports.state, ports.answer
        # Known before the last step: `accepts` leads to the pairs' memory.
        with m.If(ports.step[0]):
            m.d.sync += bad.eq(ports.closed | ports.error.any())
        m.d.comb += [
            wrong.eq(state.filled & (ports.tail.priority != ports.priority)),
            taken.eq(~(bad | ports.ahead | wrong | state.broken | no_sm)),
            ports.accepts.eq(accept & taken),
            ports.refuses.eq(accept & ~taken),
            ports.links.eq(ports.accepts & state.filled),
        ]
        m.d.sync += [
            answer.valid.eq(accept),
            answer.ticket.eq(Mux(taken, ports.ticket, 0)),
            answer.count.eq(Mux(taken, ports.accepted, 0)),
            answer.argument.eq(0),
            answer.code.eq(ErrorCode.NO_SM),
        ]
        with m.If(taken):
            m.d.sync += answer.code.eq(0)
        with m.Elif(closed):
            m.d.sync += answer.code.eq(HostError.RESET)
        with m.Elif(bad):
            m.d.sync += [answer.code.eq(ports.error), answer.argument.eq(ports.argument)]
        with m.Elif(ports.ahead):
            m.d.sync += [
                answer.code.eq(QueueCode.WAIT_AHEAD),
                answer.argument.eq(queue_packets.FIRST_WAIT_WORD + ports.ahead_pair),
            ]
        with m.Elif(wrong):
            m.d.sync += answer.code.eq(ErrorCode.STREAM_PRIORITY)
        with m.Elif(state.broken):
            m.d.sync += answer.code.eq(ErrorCode.STREAM_BROKEN)

    def _end(self, m: Module, closed: Signal, no_sm: Signal) -> tuple[Signal, dict[str, Signal]]:
        """Judge a run that is over, rule 13: whether it is final, and what its record says."""
        ports: Any = self
        state, final = ports.state, Signal(name="final")
        code, fate = Signal(ERROR_CODE_BITS, name="end_code"), Signal(_FATE_BITS, name="end_fate")
        asked = Signal(name="asked_to_stop")
        m.d.comb += asked.eq(state.aborted | state.doomed | closed)
        with m.If(ports.step[1]):
            m.d.sync += [
                final.eq((ports.fate != Fate.KILLED) | state.timed | asked | no_sm),
                code.eq(ErrorCode.NO_SM),
                fate.eq(FinalFate.FAILED),
            ]
            with m.If(ports.fate == Fate.FAILED):
                m.d.sync += code.eq(ports.code)
            with m.Elif(ports.fate == Fate.FINISHED):
                m.d.sync += [code.eq(0), fate.eq(FinalFate.FINISHED)]
            with m.Elif(state.timed):
                m.d.sync += code.eq(QueueCode.TIMEOUT)
            with m.Elif(asked):
                m.d.sync += [code.eq(0), fate.eq(FinalFate.ABORTED)]
        m.d.comb += [
            ports.ends.eq(ports.last[END]),
            ports.again.eq(ports.last[END] & ~final),
            ports.finished.eq(ports.fate == Fate.FINISHED),
        ]
        return final, {"code": code, "fate": fate}

    def _look(
        self, m: Module, closed: Signal, no_sm: Signal, preparing: Signal, resident: Signal
    ) -> dict[str, Signal]:
        """Judge a head that is looked at, rule 17; the verdicts are registers before the last step.

        Returns
        -------
        dict
            ``passes``, ``loads`` and ``waits`` in the last step; ``again``: look again.
        """
        ports: Any = self
        state, last = ports.state, ports.last[LOOK]
        names = ("passes", "loads", "waits", "again")
        look = {name: Signal(name=f"look_{name}") for name in names}
        gone, stops, leaves, stays, waits_on = (
            Signal(name=name) for name in ("gone", "wants_stop", "leaves", "stays", "preparing_on")
        )
        free = state.filled & ~preparing & ~resident
        # Aborted, not left without an SM.
        self._ended = state.aborted | state.doomed | closed
        m.d.comb += gone.eq(state.broken | self._ended | no_sm | ports.dead)
        m.d.sync += [
            leaves.eq(free & gone),
            stays.eq(free & ~gone),
            waits_on.eq(state.filled & preparing),
            stops.eq(
                state.filled
                & resident
                & (state.doomed | state.aborted | state.timed | closed | no_sm)
            ),
        ]
        m.d.comb += [
            look["passes"].eq(last & leaves & ~ports.writer_busy),
            look["again"].eq(last & ((leaves & ports.writer_busy) | waits_on)),
            look["loads"].eq(last & stays & ~ports.unreached),
            look["waits"].eq(last & stays & ports.unreached),
            ports.stops.eq(last & stops),
        ]
        return look

    def _abort(self, m: Module, preparing: Signal, resident: Signal) -> None:
        """Judge whether an ABORT's launch only waits; rule 18."""
        ports: Any = self
        self._aborts_head = is_head = Signal(name="aborts_head")
        m.d.sync += is_head.eq(ports.state.filled & (ports.head.entry == ports.aborted_entry))
        m.d.comb += ports.dies.eq(ports.last[ABORT] & ~(is_head & (preparing | resident)))

    def _state(self, m: Module, resident: Signal) -> dict[str, Signal]:
        """Return what the head's passing leaves, and write the stream's flags; rules 14 to 19."""
        ports: Any = self
        state, following, last = ports.state, ports.next_state, ports.last
        is_tail, bounded, breaks = (Signal(name=name) for name in ("is_tail", "bounded", "breaks"))
        m.d.sync += [
            is_tail.eq(ports.head.entry == ports.tail.entry),
            bounded.eq(ports.head.entry == state.bound),
            breaks.eq(
                ports.serves[END] & (ports.fate == Fate.FAILED) & (ports.code == ErrorCode.SM_LOST)
            ),
        ]
        passes, dooms, clears = ports.passes, Signal(name="dooms"), Signal(name="mends")
        after = {name: Signal(name=f"{name}_after") for name in ("doomed", "gap", "broken")}
        m.d.comb += [
            dooms.eq(last[COMMAND] & ports.aborts & ~ports.clears & state.filled),
            clears.eq(last[COMMAND] & ports.clears),
            after["doomed"].eq(state.doomed & ~bounded & ~is_tail),
            after["gap"].eq(state.gap & ~is_tail),
            after["broken"].eq(state.broken | breaks),
            ports.writes_state.eq(last.any()),
            following.filled.eq((state.filled | ports.accepts) & ~(passes & is_tail)),
            following.broken.eq(Mux(passes, after["broken"], state.broken & ~clears)),
            following.doomed.eq(Mux(passes, after["doomed"], state.doomed | dooms)),
            following.gap.eq(Mux(passes, after["gap"], state.gap | ports.dies)),
            following.aborted.eq(~passes & (state.aborted | (last[ABORT] & ~ports.dies))),
            following.timed.eq(~passes & ~ports.again & (state.timed | (last[LATE] & resident))),
            following.kills.eq(Mux(passes, 0, state.kills + (ports.again & ~state.kills.all()))),
            following.bound.eq(Mux(dooms, ports.tail.entry, state.bound)),
        ]
        self._is_tail, self._late = is_tail, last[LATE] & resident
        return after

    def _lists(
        self,
        m: Module,
        look: dict[str, Signal],
        after: dict[str, Signal],
        closed: Signal,
        no_sm: Signal,
    ) -> None:
        """Say who is the head, what it does next, and which entry is given back; rules 11, 16."""
        ports: Any = self
        enters, simple, mends, is_tail = (
            Signal(name="enters"),
            Signal(name="simple"),
            ports.last[COMMAND] & ports.clears,
            self._is_tail,
        )
        others = after["doomed"] | after["gap"] | after["broken"] | closed | no_sm
        passes, asks = ports.passes, ports.last[COMMAND] & ~mends
        goes_on = Signal(name="goes_on")
        m.d.comb += [
            enters.eq(ports.accepts & ~ports.state.filled),
            simple.eq(~is_tail & ports.link.plain & ~others),
            goes_on.eq(passes & simple),
            ports.waits.eq((enters & ports.unreached) | look["waits"]),
            ports.writes_head.eq(enters | passes),
            ports.next_head.eq(ports.link),
            ports.next_tail.entry.eq(ports.entry),
            ports.next_tail.priority.eq(ports.priority),
            ports.sets_live.eq((enters & ~ports.unreached) | look["loads"] | goes_on),
            ports.sets_ready.eq(ports.sets_live | ports.again),
            ports.clears_live.eq((passes & is_tail) | look["waits"]),
            ports.clears_ready.eq((passes & ~simple) | look["waits"] | asks | ports.last[ABORT]),
            ports.looks.eq(
                (passes & ~simple & ~is_tail)
                | asks
                | ports.last[ABORT]
                | self._late
                | look["again"]
            ),
            ports.gives.eq(passes | ports.refuses),
            ports.given.eq(Mux(ports.serves[ACCEPT], ports.entry, ports.head.entry)),
        ]
        with m.If(ports.serves[ACCEPT]):
            m.d.comb += [
                ports.next_head.entry.eq(ports.entry),
                ports.next_head.plain.eq(~ports.unreached),
            ]

    def _record(self, m: Module, look: dict[str, Signal], end: dict[str, Signal]) -> None:
        """Say what a record has, and that there is one."""
        ports: Any = self
        record, state, serves = ports.record, ports.state, ports.serves
        ends: Value = (ports.passes & ~(look["passes"] & ports.dead)) | ports.dies
        if self._config.has_loops:
            ends = self._loops(m, ends)
        m.d.comb += [
            ports.records.eq(ends | ports.last[PREEMPT]),
            ports.retires.eq(ports.passes | ports.dies),
            record.entry.eq(Mux(serves[ABORT], ports.aborted_entry, ports.head.entry)),
            record.stream.eq(Mux(serves[PREEMPT], 0, ports.stream)),
            record.preempt.eq(serves[PREEMPT]),
            record.kills.eq(state.kills),
            record.fate.eq(FinalFate.ABORTED),
            record.reset_as_drain.eq(serves[END] & ports.was_held & ports.history.drains),
            record.offered.eq(serves[END] & ports.offered),
        ]
        with m.If(serves[END]):
            m.d.comb += [record.code.eq(end["code"]), record.fate.eq(end["fate"])]
        with m.Elif(serves[PREEMPT]):
            m.d.comb += [record.fate.eq(0), record.kills.eq(0)]
        with m.Elif(serves[LOOK] & state.broken):
            m.d.comb += [record.code.eq(ErrorCode.STREAM_BROKEN), record.fate.eq(FinalFate.FAILED)]
        with m.Elif(serves[LOOK] & ~self._ended):
            m.d.comb += [record.code.eq(ErrorCode.NO_SM), record.fate.eq(FinalFate.FAILED)]
        with m.Elif(serves[ABORT] & ~self._aborts_head):
            m.d.comb += record.kills.eq(0)

    def _loops(self, m: Module, ends: Value) -> Value:
        """Tell a launch's end to its loop; return whether it makes a record; rule 32."""
        ports: Any = self
        tag, loop_end = ports.tag, ports.loop_end
        finishes, over = ports.last[END] & ports.finished, Signal(name="launch_is_over")
        m.d.comb += [over.eq(ends), ports.spares.eq(finishes & tag.quiet)]
        m.d.sync += [
            loop_end.valid.eq(over & tag.loop.any()),
            loop_end.loop.eq(tag.loop - 1),
            loop_end.finished.eq(finishes),
        ]
        records: Value = over & ~ports.spares
        return records
