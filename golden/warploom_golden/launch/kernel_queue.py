"""Cycle model of KernelQueue: streams, waits and preemption."""

from collections.abc import Mapping

from warploom_golden.launch.queue_acceptance import Judge, Verdict
from warploom_golden.launch.queue_commands import Command
from warploom_golden.launch.queue_cycle import Cycle, is_reached
from warploom_golden.launch.queue_launch import Launch
from warploom_golden.launch.queue_moves import Moves
from warploom_golden.launch.queue_packing import Packets
from warploom_golden.launch.queue_state import Numbers, State
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode
from warploom_spec.layouts import TICKET_BITS
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import COUNT_BITS


class KernelQueue:
    """Cycle model of KernelQueue.

    Ports and rules: ``docs/launch/kernel_queue.md``. Numbers in docstrings and comments are the
    page's rules.

    Parameters
    ----------
    config : Config
        Priorities, streams, entries, and the widths of a launch.
    first_ticket, first_count : int
        The first ticket, and the streams' first accepted count and timeline, for tests of the
        wraps.
    """

    def __init__(self, config: Config, *, first_ticket: int = 1, first_count: int = 0):
        self._config = config
        self._first_ticket, self._first_count = first_ticket, first_count
        self._packets = Packets(config)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._state = State(self._config, self._first_count)
        self._numbers = Numbers(self._config)
        self._ticket = self._first_ticket

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle; they depend on registers alone."""
        del inputs
        state, packets = self._state, self._packets
        launch = state.offers()
        empty = not any(self._numbers.entries)
        values: dict[str, int | None] = {
            "room": self._numbers.room,
            "answer": state.answer,
            "command_answer": state.command_answer,
            "abort__ready": int(state.abort is None),
            "abort_answer": state.abort_answer,
            "launch__valid": int(launch is not None),
            "launch__payload": None if launch is None else packets.launch(launch),
            "launch_yields": int(launch is not None and launch.fields["mode"] == Mode.YIELD),
            "launch_number": None if launch is None else launch.start_number,
            "stop": state.stop,
            "ended__ready": 1,
            "record": state.record,
            "put_back": state.put_back,
            "timeline": state.timeline,
            "idle": int(empty and state.settled()),
        }
        if self._config.makes_indices:
            request = state.presents()
            values |= {
                "request__valid": int(request is not None),
                "request__payload": None if request is None else packets.configuration(request),
                "cancel": int(state.cancel),
                "decision__ready": 1,
                "release__valid": int(state.release is not None),
                "release__payload": state.release,
            }
        return values

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        state, packets, records = self._state, self._packets, self._config.records
        sent = packets.sent.unpack(inputs["sent"])
        cycle = Cycle(self._config, state, inputs)
        verdict = self._judge(cycle, inputs["checked"])
        moves = Moves(self._config, packets, state, cycle, inputs)
        full = self._numbers.promised + sent["valid"] >= records
        command = Command(packets, state, cycle, inputs, full=full)
        moves.make()
        command.make()
        self._accept(verdict, inputs["clock"])
        self._mend_and_break(inputs["clear_stream"], moves.broken)
        self._step_timelines()
        state.record = moves.record
        state.closed = bool(inputs["soft_reset_active"])
        state.limit = inputs["launch_timeout"]
        self._numbers.advance(
            sent=sent["priority"] if sent["valid"] else None,
            refused=verdict is not None and bool(verdict.code),
            accepted=verdict is not None and not verdict.code,
            preempts=command.preempts,
            freed=moves.freed,
            popped=inputs["record_taken"],
        )
        if inputs["restart"]:
            self._state = State(self._config, self._first_count)

    def _judge(self, cycle: Cycle, checked: int) -> Verdict | None:
        """Judge the launch at ``checked`` (1)."""
        fields = self._packets.checked.unpack(checked)
        if not fields["valid"]:
            return None
        full = self._numbers.reserved == self._config.records
        depth = self._config.queue_depth
        judge = Judge(self._state, self._config.launch_waits, depth, no_sm=cycle.no_sm, full=full)
        return judge.judge(fields)

    def _accept(self, verdict: Verdict | None, clock: int) -> None:
        """Answer a launch, and let an accepted one into its list (2 to 5, 8, 13)."""
        self._state.answer = 0
        if verdict is None:
            return
        if verdict.code:
            self._state.answer = self._packets.answer(0, verdict.code, verdict.argument, 0)
            return
        streams = self._state.streams
        # What has ended in this cycle counts.
        waits = tuple(w for w in verdict.waits if not is_reached(streams[w[0]].oldest(), w[1]))
        stream = streams[verdict.fields["stream"]]
        stream.accepted = (stream.accepted + 1) % (1 << COUNT_BITS)
        launch = Launch(
            fields=verdict.fields,
            entry=verdict.entry,
            ticket=self._ticket,
            number=stream.accepted,
            accepted=clock,
            waits=waits,
        )
        if not stream.waiting:
            stream.loaded = not launch.waits
            stream.entered = True
        stream.priority = launch.priority
        stream.waiting.append(launch)
        stream.unfinished.append(launch)
        self._state.entries[launch.entry] = launch
        self._state.answer = self._packets.answer(launch.ticket, ErrorCode.OK, 0, launch.number)
        self._ticket = self._ticket % ((1 << TICKET_BITS) - 1) + 1

    def _mend_and_break(self, clear_stream: int, broken: int | None) -> None:
        """Let ``clear_stream`` and a break count; the break wins (14, 48)."""
        cleared = self._packets.clear.unpack(clear_stream)
        if cleared["valid"]:
            self._state.streams[cleared["stream"]].broken = False
        if broken is not None:
            self._state.streams[broken].broken = True

    def _step_timelines(self) -> None:
        """Show the timeline that has changed, if any (10)."""
        self._state.timeline = 0
        for number, stream in enumerate(self._state.streams):
            count = stream.oldest()
            if count != stream.timeline:
                assert not self._state.timeline, "two timelines change in one cycle"
                stream.timeline = count
                self._state.timeline = self._packets.timeline(number, count)
