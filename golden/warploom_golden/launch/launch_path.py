"""Cycle model of LaunchPath: owns a launch from ticket to end record."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from warploom_golden.dispatch import BlockDispatcher
from warploom_golden.index import IndexGenerator
from warploom_golden.launch.launch_check import LaunchCheck
from warploom_golden.launch.launch_waiting import Record, Streams, Waiting
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode
from warploom_spec.layouts import TICKET_BITS
from warploom_spec.timing import timing

Values = dict[str, int | None]


@dataclass(frozen=True)
class Wires:
    """What happens in one cycle.

    Attributes
    ----------
    check, generator, dispatcher : mapping
        Inputs of the parts.
    outputs : mapping
        Outputs of the whole.
    leaving : mapping or None
        The launch that leaves LaunchCheck, fields of ``layouts.checked_launch``.
    code, argument : int
        Why it is refused.
    presented : Waiting or None
        The launch whose configuration transfers.
    decision : mapping or None
        The index generator's decision, fields of ``layouts.index_decision``.
    handed : Waiting or None
        The launch that transfers to the dispatcher.
    record : Record or None
        The record that enters the record queue.
    stops_waiting : Waiting or None
        The launch that the stop register takes back.
    stop_leaves : bool
        Whether the stop register empties.
    """

    check: Mapping[str, int]
    generator: Mapping[str, int]
    dispatcher: Mapping[str, int]
    outputs: Values
    leaving: Mapping[str, int] | None
    code: int
    argument: int
    presented: Waiting | None
    decision: Mapping[str, int] | None
    handed: Waiting | None
    record: Record | None
    stops_waiting: Waiting | None
    stop_leaves: bool


class LaunchPath:
    """Cycle model of LaunchPath.

    Ports and rules: ``docs/launch/launch_path.md``.

    Parameters
    ----------
    config : Config
        As for the parts.
    """

    def __init__(self, config: Config):
        self._config = config
        self._timing = timing(config)
        self._check = LaunchCheck(config)
        self._generator = IndexGenerator(config)
        self._dispatcher = BlockDispatcher(config)
        self._checked = layouts.checked_launch(config)
        self._answer_packet = layouts.launch_answer(config)
        self._index_config = layouts.index_config(config)
        self._decision = layouts.index_decision(config)
        self._dispatch = layouts.dispatch_launch(config)
        self._dispatch_end = layouts.dispatch_end(config)
        self._end_record = layouts.end_record(config)
        self._stop_packet = layouts.launch_stop(config)
        self._all_lost = (1 << config.sms) - 1
        self._body = [
            field.name for field in self._checked.fields if field.name not in ("error", "argument")
        ]
        self.reset()

    def reset(self) -> None:
        """Forget all launches; the index memory keeps its words."""
        for part in (self._check, self._generator, self._dispatcher):
            part.reset()
        self._answer: int | None = None
        self._queue: deque[Waiting] = deque()
        self._in_flight: Waiting | None = None
        self._cancelled = False
        self._stop: int | None = None
        self._streams = Streams(self._config)
        self._ticket = 1
        self._records: deque[int] = deque()
        self._unrecorded = 0
        self._release: int | None = None

    def outputs(self, inputs: Mapping[str, int]) -> Values:
        """Return the outputs of this cycle."""
        return self._wires(inputs).outputs

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        wires = self._wires(inputs)
        if wires.stop_leaves:
            self._stop = None
        if inputs["stop__valid"] and wires.outputs["stop__ready"]:
            self._stop = inputs["stop__payload"]
        if wires.stops_waiting is not None:
            wires.stops_waiting.taken_back = True
        self._follow_configuration(wires)
        self._end(wires, inputs)
        self._answer_leaving(wires, inputs)
        self._check.tick(wires.check)
        self._generator.tick(wires.generator)
        self._dispatcher.tick(wires.dispatcher)

    def _follow_configuration(self, wires: Wires) -> None:
        """Move the configuration in flight, and start the next one's."""
        if self._in_flight is not None and wires.decision is not None:
            self._in_flight.prepared = True
            self._in_flight.entry = wires.decision["entry"]
            self._in_flight = None
        elif self._cancelled:
            self._in_flight = None
        self._cancelled = bool(wires.generator["cancel"])
        if wires.presented is not None:
            wires.presented.presented = True
            self._in_flight = wires.presented

    def _end(self, wires: Wires, inputs: Mapping[str, int]) -> None:
        """Hand a launch over, or end it; keep records and streams."""
        if self._records and inputs["ended__ready"]:
            self._records.popleft()
            self._unrecorded -= 1
        if wires.handed is not None:
            self._queue.popleft()
        if inputs["clear_stream__valid"]:
            self._streams.mend(inputs["clear_stream__payload"])
        self._release = None
        record = wires.record
        if record is not None:
            self._release = record.entry
            self._records.append(self._end_record.pack(record.fields))
            self._streams.end(record)
            if self._queue and self._queue[0].ticket == record.fields["ticket"]:
                self._queue.popleft()

    def _answer_leaving(self, wires: Wires, inputs: Mapping[str, int]) -> None:
        """Answer the launch that leaves LaunchCheck, and queue it if it is accepted."""
        if inputs["answer__ready"]:
            self._answer = None
        if wires.leaving is None:
            return
        ticket = 0 if wires.code else self._ticket
        self._answer = self._answer_packet.pack(
            {"ticket": ticket, "code": wires.code, "argument": wires.argument}
        )
        if wires.code:
            return
        self._queue.append(Waiting(ticket, wires.leaving))
        self._streams.accept(wires.leaving["stream"], wires.leaving["priority"])
        self._unrecorded += 1
        self._ticket = ticket % ((1 << TICKET_BITS) - 1) + 1

    def _wires(self, inputs: Mapping[str, int]) -> Wires:
        """Follow the cycle's values from the registers to the outputs."""
        ready, leaving, code, argument = self._judge(inputs)
        check = {name: inputs[name] for name in ("tables",)} | {
            "i__valid": inputs["launch__valid"],
            "i__payload": inputs["launch__payload"],
            "o__ready": int(ready),
        }
        dispatched = self._dispatcher.outputs(inputs)
        no_sm = dispatched["lost"] == self._all_lost
        generator, indexed, standing = self._index(inputs)
        presented = standing if standing is not None and indexed["i__ready"] else None
        decision = None
        if indexed["decision__valid"]:
            decision = self._decision.unpack(indexed["decision__payload"] or 0)

        oldest = self._queue[0] if self._queue else None
        doomed = oldest is not None and self._is_doomed(oldest, no_sm)
        offered = oldest if oldest is not None and oldest.prepared and not doomed else None
        handed = offered if dispatched["launch__ready"] else None
        record = None
        if dispatched["ended__valid"]:
            end = self._dispatch_end.unpack(dispatched["ended__payload"] or 0)
            record = Record.of_dispatched(end)
        elif oldest is not None and doomed and oldest is not self._in_flight:
            record = Record.of_waiting(oldest, self._streams.is_broken(oldest.launch["stream"]))

        accepted = self._ticket if leaving is not None and not code else None
        waits, stops_waiting = self._look_at_stop(handed, accepted)
        passes = self._stop is not None and not waits and stops_waiting is None
        dispatcher = dict(inputs) | {
            "launch__valid": int(offered is not None),
            "launch__payload": 0 if offered is None else self._descriptor(offered),
            "ended__ready": 1,
            "stop__valid": int(passes),
            "stop__payload": self._stop or 0,
        }
        outputs = self._collect(dispatched, indexed)
        outputs["launch__ready"] = self._check.outputs(check)["i__ready"]
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
            record=record,
            stops_waiting=stops_waiting,
            stop_leaves=self._stop is not None and not waits,
        )

    def _judge(self, inputs: Mapping[str, int]) -> tuple[bool, Mapping[str, int] | None, int, int]:
        """Return whether LaunchCheck's output is taken, the launch taken, its refusal."""
        word = self._check.outputs({"o__ready": 1})["o__payload"]
        free = self._answer is None or bool(inputs["answer__ready"])
        if word is None or not free:
            return free, None, 0, 0
        launch = self._checked.unpack(word)
        code, argument = launch["error"], launch["argument"]
        if not code:
            code = self._refusal(launch)
        if not code and len(self._queue) >= self._timing.launch_queue:
            return False, None, 0, 0
        return True, launch, code, argument

    def _refusal(self, launch: Mapping[str, int]) -> ErrorCode:
        """Return why a launch that passed LaunchCheck is refused, or OK."""
        stream = launch["stream"]
        if self._streams.has_other_priority(stream, launch["priority"]):
            return ErrorCode.STREAM_PRIORITY
        if self._streams.is_broken(stream):
            return ErrorCode.STREAM_BROKEN
        if self._dispatcher.lost == self._all_lost:
            return ErrorCode.NO_SM
        if self._unrecorded == self._timing.end_records:
            return ErrorCode.COMPLETION_FULL
        return ErrorCode.OK

    def _index(self, inputs: Mapping[str, int]) -> tuple[dict[str, int], Values, Waiting | None]:
        """Return the index generator's inputs and outputs, and the launch at its input."""
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
        # Nothing stands at the generator's input while something is in flight: `cancel` changes
        # none of the outputs that are read here but `i__ready`, which then nobody asks for.
        if wanted and not indexed["decision__valid"]:
            generator["cancel"] = 1
            indexed = self._generator.outputs(generator)
        return generator, indexed, standing

    def _configuration(self, waiting: Waiting) -> int:
        fields = {name: waiting.launch[name] for name in ("dx", "dy", "dz", "warps")}
        return self._index_config.pack(fields | {"address": waiting.launch["index_address"]})

    def _is_doomed(self, waiting: Waiting, no_sm: bool) -> bool:
        if waiting.taken_back:
            return True
        return waiting.prepared and (no_sm or self._streams.is_broken(waiting.launch["stream"]))

    def _descriptor(self, waiting: Waiting) -> int:
        """Return the launch as the dispatcher takes it."""
        fields = {name: waiting.launch[name] for name in self._body}
        fields |= {"start_x": 0, "start_y": 0, "start_z": 0}
        return self._dispatch.pack(
            fields | {"ticket": waiting.ticket, "entries": 1 << waiting.entry}
        )

    def _look_at_stop(
        self, handed: Waiting | None, accepted: int | None
    ) -> tuple[bool, Waiting | None]:
        """Return whether the stop has to wait, and the waiting launch that it takes back."""
        if self._stop is None:
            return False, None
        ticket = self._stop_packet.unpack(self._stop)["ticket"]
        if ticket == accepted or (handed is not None and handed.ticket == ticket):
            return True, None
        return False, next((w for w in self._queue if w.ticket == ticket), None)

    def _collect(self, dispatched: Values, indexed: Values) -> Values:
        """Return the outputs of the whole but ``launch__ready``."""
        outputs = dict(dispatched)
        for name in ("launch__ready", "ended__valid", "ended__payload", "stop__ready"):
            del outputs[name]
        outputs["dispatch_error"] = outputs.pop("error")
        outputs["dispatch_error_count"] = outputs.pop("error_count")
        decides = indexed["decision__valid"] and self._in_flight is not None
        outputs |= {
            "answer__valid": int(self._answer is not None),
            "answer__payload": self._answer,
            "stop__ready": int(self._stop is None),
            "clear_stream__ready": 1,
            "ended__valid": int(bool(self._records)),
            "ended__payload": self._records[0] if self._records else None,
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
