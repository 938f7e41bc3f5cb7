"""Cycle model of LaunchPath: owns a launch from ticket to final record."""

from collections import deque
from collections.abc import Mapping

from warploom_golden.dispatch import BlockDispatcher
from warploom_golden.index import IndexGenerator
from warploom_golden.launch.launch_check import LaunchCheck
from warploom_golden.launch.launch_waiting import Record, Streams, Waiting
from warploom_golden.launch.launch_wires import Look, Values, Wires
from warploom_spec import host_packets, layouts
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode, Stop
from warploom_spec.host_errors import HostError
from warploom_spec.layouts import PLACES, TICKET_BITS
from warploom_spec.queue import QueueCode
from warploom_spec.timing import timing


class LaunchPath:
    """Cycle model of LaunchPath.

    Ports and rules: ``docs/launch/launch_path.md``. Numbers in comments are the page's rules.

    Parameters
    ----------
    config : Config
        As for the parts.
    first_ticket : int
        The first ticket, for tests of the wrap.
    first_number : int
        Number of each launch's first block, for tests of the wrap.
    soft_reset : bool
        Whether it has the ports ``stop_answer``, ``soft_reset_active``, ``restart`` and ``idle``;
        letters in comments are rules of ``docs/host/front_end.md``.
    """

    def __init__(
        self,
        config: Config,
        *,
        first_ticket: int = 1,
        first_number: int = 0,
        soft_reset: bool = False,
    ):
        self._soft_reset = soft_reset
        self._config = config
        self._first_ticket = first_ticket
        self._timing = timing(config)
        self._check = LaunchCheck(config)
        self._generator = IndexGenerator(config) if config.makes_indices else None
        self._dispatcher = BlockDispatcher(config, first_number=first_number)
        self._checked = layouts.checked_launch(config)
        self._answer_packet = layouts.launch_answer(config)
        if self._generator is not None:
            self._index_config = layouts.index_config(config)
            self._decision = layouts.index_decision(config)
        self._dispatch = layouts.dispatch_launch(config)
        self._dispatch_end = layouts.dispatch_end(config)
        self._end_record = layouts.end_record(config)
        self._stop_packet = layouts.launch_stop(config)
        self._stop_answer_packet = host_packets.stop_answer(config)
        self._dispatch_stop = layouts.dispatch_stop(config)
        self._error_packet = layouts.error_record(config)
        self._all_lost = (1 << config.sms) - 1
        self._body = [
            field.name for field in self._checked.fields if field.name not in ("error", "argument")
        ]
        self.reset()

    def reset(self) -> None:
        """Forget all launches; the index memory keeps its words."""
        self._dispatcher.reset()
        self._forget()
        self._ticket = self._first_ticket
        self._records: deque[int] = deque()
        self._reserved = 0
        self._room = 1
        # Launches that are ahead, and what lowers both numbers a cycle late (6).
        self._ahead_of_queue = self._ahead_of_records = 0
        self._gone_from_queue = self._gone_from_records = 0
        self._taken_before = False  # a record was, in the cycle before

    def _forget(self) -> None:
        """Take the values of a reset, but for what a restart keeps, and for the dispatcher (F)."""
        self._check.reset()
        if self._generator is not None:
            self._generator.reset()
        self._answer = 0
        self._closed = False
        self._queue: deque[Waiting] = deque()
        self._in_flight: Waiting | None = None
        self._cancelled = False
        self._stop: int | None = None
        self._streams = Streams(self._config)
        self._release: int | None = None
        self._no_sm = False  # every SM was lost in the cycle before
        self._no_sm_before = False  # and in the one before that
        self._places: list[int | None] = [None] * PLACES  # tickets of the dispatcher's launches
        self._error = 0
        self._error_count = 0
        self._stop_answer = 0

    def outputs(self, inputs: Mapping[str, int]) -> Values:
        """Return the outputs of this cycle."""
        return self._wires(inputs).outputs

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        wires = self._wires(inputs)
        self._streams.settle()
        for waiting in self._queue:
            waiting.new = False
        self._follow_stop(wires, inputs)
        self._follow_configuration(wires)
        self._follow_places(wires)
        self._keep_room(wires, inputs)
        self._end(wires, inputs)
        self._answer_leaving(wires)
        self._no_sm_before = self._no_sm
        self._no_sm = self._dispatcher.lost == self._all_lost
        self._closed = bool(inputs.get("soft_reset_active", 0))
        self._check.tick(wires.check)
        if self._generator is not None:
            self._generator.tick(wires.generator)
        self._dispatcher.tick(wires.dispatcher)
        if inputs.get("restart", 0):
            # A record that was taken in this cycle counts; nothing else that happened does.
            self._dispatcher.restart()
            self._forget()

    def _follow_stop(self, wires: Wires, inputs: Mapping[str, int]) -> None:
        """Take the stop from its register, answer it, and let the next one in (14, A, C)."""
        look = wires.stop
        if inputs["stop__valid"] and self._stop is None:
            self._stop = inputs["stop__payload"]
        elif look.leaves:
            self._stop = None
        if look.waiting is not None:
            look.waiting.taken_back = True
        if self._closed:
            for waiting in self._queue:
                waiting.taken_back = True
        code = QueueCode.TICKET_UNKNOWN if look.unknown else ErrorCode.OK
        answer = self._stop_answer_packet.pack({"valid": 1, "code": code})
        self._stop_answer = answer if look.leaves else 0
        self._error = 0
        if look.unknown:
            fields = {"valid": 1, "code": ErrorCode.STOP_UNKNOWN, "argument": 0}
            self._error = self._error_packet.pack(fields)
            highest = (1 << self._timing.error_counter_bits) - 1
            self._error_count = min(self._error_count + 1, highest)

    def _follow_places(self, wires: Wires) -> None:
        """Note which launch holds which of the dispatcher's places (15)."""
        if wires.ended_place is not None:
            self._places[wires.ended_place] = None
        if wires.handed is not None:
            self._places[self._places.index(None)] = wires.handed.ticket

    def _keep_room(self, wires: Wires, inputs: Mapping[str, int]) -> None:
        """Tell whether a launch that is sent in the next cycle finds an entry (5, 6)."""
        sent = inputs["launch__valid"]
        self._ahead_of_queue += sent - self._gone_from_queue
        self._ahead_of_records += sent - self._gone_from_records
        self._room = int(
            self._ahead_of_queue < self._timing.launch_queue
            and self._ahead_of_records < self._timing.end_records
        )
        refused = wires.leaving is not None and bool(wires.code)
        left = wires.handed is not None or wires.ends_here
        taken = bool(self._records and inputs["ended__ready"])
        self._gone_from_queue = refused + left
        self._gone_from_records = refused + taken
        self._reserved -= self._taken_before
        self._taken_before = taken

    def _follow_configuration(self, wires: Wires) -> None:
        """Move the configuration in flight, and start the next one's."""
        if self._in_flight is not None and wires.decision is not None:
            self._in_flight.prepared = True
            self._in_flight.entry = wires.decision["entry"]
            self._in_flight = None
        elif self._cancelled:
            self._in_flight = None
        self._cancelled = bool(wires.generator.get("cancel", 0))
        if wires.presented is not None:
            wires.presented.presented = True
            self._in_flight = wires.presented

    def _end(self, wires: Wires, inputs: Mapping[str, int]) -> None:
        """Hand a launch over, or end it; keep records and streams."""
        if self._taken_before:
            self._records.popleft()
        if wires.handed is not None or wires.ends_here:
            self._queue.popleft()
        self._release = None
        record = wires.record
        cleared = inputs["clear_stream__payload"] if inputs["clear_stream__valid"] else None
        self._streams.note(cleared, record)
        if record is not None:
            self._release = record.entry
            self._records.append(self._end_record.pack(record.fields))

    def _answer_leaving(self, wires: Wires) -> None:
        """Answer the launch that leaves LaunchCheck, and queue it if it is accepted (3, 4)."""
        self._answer = 0
        if wires.leaving is None:
            return
        ticket = 0 if wires.code else self._ticket
        self._answer = self._answer_packet.pack(
            {"valid": 1, "ticket": ticket, "code": wires.code, "argument": wires.argument}
        )
        if wires.code:
            return
        # Without indices nothing is to be decided (21).
        self._queue.append(Waiting(ticket, wires.leaving, prepared=self._generator is None))
        self._streams.accept(wires.leaving["stream"], wires.leaving["priority"])
        self._reserved += 1
        self._ticket = ticket % ((1 << TICKET_BITS) - 1) + 1

    def _wires(self, inputs: Mapping[str, int]) -> Wires:
        """Follow the cycle's values from the registers to the outputs."""
        leaving, code, argument = self._judge()
        check = {name: inputs[name] for name in ("tables",)} | {
            "i__valid": inputs["launch__valid"],
            "i__payload": inputs["launch__payload"],
            "o__ready": 1,
        }
        dispatched = self._dispatcher.outputs(inputs)
        generator, indexed, standing = self._index(inputs)
        presented = standing if standing is not None and indexed["i__ready"] else None
        decision = None
        if indexed.get("decision__valid"):
            decision = self._decision.unpack(indexed["decision__payload"] or 0)

        oldest = self._queue[0] if self._queue else None
        ending = oldest is not None and self._is_ending(oldest)
        offered = oldest if oldest is not None and oldest.prepared and not ending else None
        handed = offered if dispatched["launch__ready"] else None
        record = ended_place = None
        ends_here = False
        if dispatched["ended__valid"]:
            end = self._dispatch_end.unpack(dispatched["ended__payload"] or 0)
            record, ended_place = Record.of_dispatched(end), end["place"]
        elif oldest is not None and ending and oldest is not self._in_flight:
            record = Record.of_waiting(oldest, self._streams.was_broken(oldest.launch["stream"]))
            ends_here = True

        accepted = self._ticket if leaving is not None and not code else None
        look = self._look_at_stop(handed, accepted)
        dispatcher = dict(inputs) | {
            "launch__valid": int(offered is not None),
            "launch__payload": 0 if offered is None else self._descriptor(offered),
            "ended__ready": 1,
            "stop": self._dispatch_stop.pack(
                {f"place{p}": self._place_stop(p, look) for p in range(PLACES)}
            ),
        }
        outputs = self._collect(dispatched, indexed)
        return Wires(
            check=check,
            generator=generator,
            dispatcher=dispatcher,
            outputs=outputs,
            leaving=leaving,
            code=code,
            argument=argument,
            presented=presented,
            decision=decision,
            handed=handed,
            ended_place=ended_place,
            record=record,
            ends_here=ends_here,
            stop=look,
        )

    def _judge(self) -> tuple[Mapping[str, int] | None, int, int]:
        """Return the launch that leaves LaunchCheck, and why it is refused (2, B)."""
        word = self._check.outputs({"o__ready": 1})["o__payload"]
        if word is None:
            return None, 0, 0
        launch = self._checked.unpack(word)
        if self._closed:
            return launch, HostError.RESET, 0
        code, argument = launch["error"], launch["argument"]
        return launch, code or self._refusal(launch), argument

    def _refusal(self, launch: Mapping[str, int]) -> ErrorCode:
        """Return why a launch that passed LaunchCheck is refused, or OK."""
        stream = launch["stream"]
        if self._streams.has_other_priority(stream, launch["priority"]):
            return ErrorCode.STREAM_PRIORITY
        if self._streams.is_broken(stream):
            return ErrorCode.STREAM_BROKEN
        if self._no_sm:
            return ErrorCode.NO_SM
        if self._reserved == self._timing.end_records:
            return ErrorCode.COMPLETION_FULL
        if len(self._queue) == self._timing.launch_queue:
            return ErrorCode.QUEUE_FULL
        return ErrorCode.OK

    def _index(self, inputs: Mapping[str, int]) -> tuple[dict[str, int], Values, Waiting | None]:
        """Return the index generator's inputs and outputs, and the launch at its input."""
        if self._generator is None:
            return {}, {}, None
        in_flight = self._in_flight
        wanted = in_flight is not None and in_flight.taken_back and not self._cancelled
        standing = None
        if in_flight is None:
            waiting = (w for w in self._queue if not w.presented and not w.taken_back)
            standing = next(waiting, None)
        generator = {
            "i__valid": int(standing is not None),
            "i__payload": 0 if standing is None else self._configuration(standing),
            "cancel": 0,
            "decision__ready": 1,
            "done__ready": 1,
            "release__valid": int(self._release is not None),
            "release__payload": self._release or 0,
            "read__valid": inputs["read__valid"],
            "read__payload": inputs["read__payload"],
            "data__ready": inputs["data__ready"],
        }
        indexed = self._generator.outputs(generator)
        if wanted and not indexed["decision__valid"]:
            # It changes none of the outputs.
            generator["cancel"] = 1
        return generator, indexed, standing

    def _configuration(self, waiting: Waiting) -> int:
        fields = {name: waiting.launch[name] for name in ("dx", "dy", "dz", "warps")}
        return self._index_config.pack(fields | {"address": waiting.launch["index_address"]})

    def _is_ending(self, waiting: Waiting) -> bool:
        """Tell whether the oldest launch ends from here (12)."""
        broken = self._streams.was_broken(waiting.launch["stream"])
        fails = waiting.prepared and not waiting.new and (self._no_sm_before or broken)
        return waiting.taken_back or fails

    def _descriptor(self, waiting: Waiting) -> int:
        """Return the launch as the dispatcher takes it."""
        fields = {name: waiting.launch[name] for name in self._body}
        fields |= {"start_x": 0, "start_y": 0, "start_z": 0}
        return self._dispatch.pack(
            fields | {"ticket": waiting.ticket, "entries": 1 << waiting.entry}
        )

    def _look_at_stop(self, handed: Waiting | None, accepted: int | None) -> Look:
        """Return what becomes of the stop in the register (14)."""
        if self._stop is None:
            return Look()
        fields = self._stop_packet.unpack(self._stop)
        ticket = fields["ticket"]
        if ticket == accepted or (handed is not None and handed.ticket == ticket):
            return Look()
        waiting = next((w for w in self._queue if w.ticket == ticket), None)
        if waiting is not None:
            return Look(leaves=True, waiting=waiting)
        if ticket in self._places:
            stop = Stop.DRAIN if fields["drain"] else Stop.KILL
            return Look(leaves=True, place=self._places.index(ticket), stop=stop)
        return Look(leaves=True, unknown=True)

    def _place_stop(self, place: int, look: Look) -> Stop:
        """Return what the dispatcher hears for one of its places (14c, 16, D)."""
        if self._closed:
            return Stop.KILL
        return look.stop if place == look.place else Stop.NONE

    def _is_idle(self) -> bool:
        """Tell whether no launch is here (E)."""
        resident = any(ticket is not None for ticket in self._places)
        return not (self._ahead_of_queue or resident)

    def _collect(self, dispatched: Values, indexed: Values) -> Values:
        """Return the outputs of the whole."""
        outputs = dict(dispatched)
        for name in ("ended__valid", "ended__payload"):
            del outputs[name]
        outputs["dispatch_error"] = outputs.pop("error")
        outputs["dispatch_error_count"] = outputs.pop("error_count")
        outputs |= {
            "launch__ready": 1,
            "answer": self._answer,
            "room": self._room,
            "error": self._error,
            "error_count": self._error_count,
            "stop__ready": int(self._stop is None),
            "clear_stream__ready": 1,
            "ended__valid": int(bool(self._records)),
            "ended__payload": self._records[0] if self._records else None,
        }
        if self._soft_reset:
            outputs |= {"stop_answer": self._stop_answer, "idle": int(self._is_idle())}
        return outputs | (self._collect_indices(indexed) if indexed else {})

    def _collect_indices(self, indexed: Values) -> Values:
        """Return the outputs that there are with an index generator alone (20)."""
        decides = indexed["decision__valid"] and self._in_flight is not None
        outputs = {
            "decided": indexed["decision__payload"],
            "decided_valid": indexed["decision__valid"],
            "decided_ticket": self._in_flight.ticket if decides and self._in_flight else None,
            "done": indexed["done__payload"],
            "done_valid": indexed["done__valid"],
            "index_error": indexed["error"],
            "index_error_count": indexed["error_count"],
        }
        for name in ("written", "written_valid", "read__ready", "data__payload", "data__valid"):
            outputs[name] = indexed[name]
        return outputs
