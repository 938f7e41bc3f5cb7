"""Cycle model of LaunchPath: a launch from its ticket to its record."""

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from warploom_golden.dispatch import BlockDispatcher
from warploom_golden.index import IndexGenerator
from warploom_golden.launch.kernel_queue import KernelQueue
from warploom_golden.launch.launch_check import LaunchCheck
from warploom_golden.launch.record_queue import RecordQueue
from warploom_spec import layouts, queue_packets, resident_packets
from warploom_spec.config import Config
from warploom_spec.host_errors import HostError
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import MODE_WORD
from warploom_spec.timing import timing

Values = dict[str, int | None]
Inputs = dict[str, int]

CLOCK_BITS = 64
#: What KernelQueue and BlockDispatcher see of the clock.
LOW_CLOCK = (1 << 32) - 1
#: Ports that are KernelQueue's own, as they are.
QUEUE_INPUTS = (
    *(f"{name}__{part}" for name in ("command", "abort") for part in ("valid", "payload")),
    *("clear_stream__valid", "clear_stream__payload"),
    *("launch_timeout", "soft_reset_active", "restart"),
)
QUEUE_OUTPUTS = (
    *("room", "records_left", "answer", "command__ready", "command_answer", "abort__ready"),
    *("abort_answer", "clear_stream__ready", "killed", "timeline", "words", "record", "idle"),
)
#: What KernelQueue sees of the dispatcher.
TO_QUEUE = (
    *("begun", "busy", "open", "yields", "no_sm", "fetch", "start__ready"),
    *("ended__valid", "ended__payload", "ended_first", "ended_cycles"),
)
#: What the dispatcher sees of KernelQueue.
TO_DISPATCHER = ("start__valid", "start__payload", "hold", "stop", "ended__ready")
#: Outputs of the dispatcher that are inner wires alone.
DISPATCHER_INNER = frozenset((*TO_QUEUE, "resident", "error", "error_count")) - {"no_sm"}
#: Ports that are the index generator's own, as they are.
INDEX_INPUTS = ("read__valid", "read__payload", "data__ready")
INDEX_OUTPUTS = ("written", "written_valid", "read__ready", "data__payload", "data__valid")


class Registers(NamedTuple):
    """Outputs of parts that depend on their registers alone, in one cycle.

    Attributes
    ----------
    queue, dispatcher, records, check : mapping
        Of each part.
    moves : bool
        LaunchCheck moves (3).
    ready : bool
        ``launch.ready`` (2).
    """

    queue: Values
    dispatcher: Values
    records: Values
    check: Values
    moves: bool
    ready: bool


class LaunchPath:
    """Cycle model of LaunchPath.

    Ports and rules: ``docs/launch/launch_path.md``. Numbers in docstrings and comments are
    the page's rules.

    Parameters
    ----------
    config : Config
        As for the parts.
    first_ticket, first_clock, first_count : int
        The first ticket, the clock's first value, and the streams' first accepted count and
        timeline, for tests of the wraps.
    first_number : int
        The number of each launch's first block, for tests of its wrap.
    """

    def __init__(
        self,
        config: Config,
        *,
        first_ticket: int = 1,
        first_clock: int = 0,
        first_count: int = 0,
        first_number: int = 0,
    ):
        self._depth = timing(config).launch_check
        self._first_clock = first_clock
        self._check = LaunchCheck(config)
        self._queue = KernelQueue(config, first_ticket=first_ticket, first_count=first_count)
        self._generator = IndexGenerator(config) if config.makes_indices else None
        self._dispatcher = BlockDispatcher(config, first_number=first_number)
        self._record_queue = RecordQueue(config)
        self._launch = queue_packets.queued_launch(config)
        self._descriptor = layouts.launch_descriptor(config)
        self._sent = resident_packets.resident_sent(config)
        self._leaving = layouts.checked_launch(config)
        self._checked = resident_packets.resident_launch(config)
        pairs = [name for name in self._launch.offsets if name.startswith("wait")]
        of_loops = ("loop", "quiet") if config.has_loops else ()
        # What travels beside LaunchCheck, and what the queue says (3, 1).
        self._kept = ("mode", *pairs, *of_loops)
        self._queue_outputs = (*QUEUE_OUTPUTS, *("loop_end",) * config.has_loops)
        streams = [f"report__{n}" for n in range(config.sms)]
        streams += ["order_swap"] * config.has_order_table
        self._dispatcher_inputs = (
            *("enable", "restart"),
            *(f"{name}__{part}" for name in streams for part in ("valid", "payload")),
        )
        self.reset()

    def reset(self) -> None:
        """Forget everything; the index memory keeps its words."""
        self._queue.reset()
        self._dispatcher.reset()
        self._record_queue.reset()
        self._clock = self._first_clock
        self._forget()

    def _forget(self) -> None:
        """Take the values of a reset, but for what a restart lets go on (12)."""
        self._check.reset()
        if self._generator is not None:
            self._generator.reset()
        # What travels beside LaunchCheck; the launch that leaves it stands first (3).
        self._beside: deque[Inputs] = deque([{}] * self._depth, maxlen=self._depth)
        self._registers: Registers | None = None

    def outputs(self, inputs: Mapping[str, int]) -> Values:
        """Return the outputs of this cycle."""
        now = self._now()
        values = {name: now.queue[name] for name in self._queue_outputs}
        for name, value in now.dispatcher.items():
            if name not in DISPATCHER_INNER:
                values[name] = value
        # They speak of the offered block alone (10).
        if not now.dispatcher["offer"]:
            values["words"] = None
        values |= {
            "launch__ready": int(now.ready),
            "oldest": now.records["oldest"],
            "records": now.records["records"],
            "clock": self._clock,
            "dispatch_error": now.dispatcher["error"],
            "dispatch_error_count": now.dispatcher["error_count"],
        }
        if self._generator is not None:
            indexed = self._generator.outputs(_to_generator(inputs, now.queue))
            values |= {name: indexed[name] for name in INDEX_OUTPUTS}
            values |= {
                "decided": indexed["decision__payload"],
                "decided_valid": indexed["decision__valid"],
                "done": indexed["done__payload"],
                "done_valid": indexed["done__valid"],
                "index_error": indexed["error"],
                "index_error_count": indexed["error_count"],
            }
        return values

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; each part sees this cycle's outputs of the others (1)."""
        now = self._now()
        launch = None
        if inputs["launch__valid"] and now.ready:
            launch = self._launch.unpack(inputs["launch__payload"])
        to_queue = self._to_queue(inputs, now, launch)
        if self._generator is not None:
            to_generator = _to_generator(inputs, now.queue)
            to_queue |= _from_generator(self._generator.outputs(to_generator))
            self._generator.tick(to_generator)
        self._queue.tick(to_queue)
        self._check.tick(self._to_check(inputs, now, launch))
        self._dispatcher.tick(self._to_dispatcher(inputs, now.queue))
        self._record_queue.tick({"record": now.queue["record"] or 0, "pop": inputs["pop"]})
        if now.moves:
            self._beside.append({} if launch is None else self._keep(launch))
        self._clock = (self._clock + 1) % (1 << CLOCK_BITS)  # 9
        self._registers = None
        if inputs["restart"]:
            self._forget()

    # Wires

    def _now(self) -> Registers:
        """Return what the cycle's registers say: the same, however often it is asked."""
        if self._registers is None:
            dispatcher = self._dispatcher.outputs({})
            # Of the queue's inputs only these matter to its outputs.
            ended = dispatcher["ended__valid"] or 0
            queue = self._queue.outputs({"ended__valid": ended, "clear_stream__valid": 0})
            takes = queue["checked__ready"] or 0
            check = self._check.outputs({"o__ready": takes})
            moves = bool(check["i__ready"])
            ready = moves and bool(queue["pace"])
            records = self._record_queue.outputs({})
            self._registers = Registers(queue, dispatcher, records, check, moves, ready)
        return self._registers

    def _to_queue(
        self, inputs: Mapping[str, int], now: Registers, launch: Mapping[str, int] | None
    ) -> Inputs:
        """Return KernelQueue's inputs, without the index generator's."""
        sent = 0
        if launch is not None:
            sent = self._sent.pack({"valid": 1, "priority": launch["priority"]})
        values = {name: inputs[name] for name in QUEUE_INPUTS}
        values |= {name: now.dispatcher[name] or 0 for name in TO_QUEUE}
        return values | {
            "sent": sent,
            "checked__valid": now.check["o__valid"] or 0,
            "checked__payload": self._pack_checked(now.check["o__payload"]),
            "clock": self._clock & LOW_CLOCK,
            "record_taken": now.records["record_taken"] or 0,
            "release__ready": 1,
        }

    def _pack_checked(self, word: int | None) -> int:
        """Return what stands at the queue's ``checked`` (3, 4)."""
        if word is None:
            return 0
        fields = {**self._leaving.unpack(word), **self._beside[0]}
        if not fields["error"] and fields["mode"] > Mode.YIELD:
            fields |= {"error": HostError.FIELD_RANGE, "argument": MODE_WORD}
        return self._checked.pack(fields)

    def _to_check(
        self, inputs: Mapping[str, int], now: Registers, launch: Mapping[str, int] | None
    ) -> Inputs:
        """Return LaunchCheck's inputs: the low bits of the mode are its own (1)."""
        word = 0
        if launch is not None:
            fields = {field.name: launch.get(field.name, 0) for field in self._descriptor.fields}
            fields["mode"] &= (1 << layouts.MODE_BITS) - 1
            word = self._descriptor.pack(fields)
        return {
            "i__valid": int(launch is not None),
            "i__payload": word,
            "o__ready": now.queue["checked__ready"] or 0,
            "tables": inputs["tables"],
        }

    def _keep(self, launch: Mapping[str, int]) -> Inputs:
        """Return what travels beside LaunchCheck (3)."""
        return {name: launch[name] for name in self._kept}

    def _to_dispatcher(self, inputs: Mapping[str, int], queue: Values) -> Inputs:
        """Return the dispatcher's inputs (1)."""
        values = {name: inputs[name] for name in self._dispatcher_inputs}
        values |= {name: queue[name] or 0 for name in TO_DISPATCHER}
        values["clock"] = self._clock & LOW_CLOCK
        return values


def _to_generator(inputs: Mapping[str, int], queue: Values) -> Inputs:
    """Return the index generator's inputs (1, 7)."""
    values = {name: inputs[name] for name in INDEX_INPUTS}
    values |= {
        "i__valid": queue["request__valid"] or 0,
        "i__payload": queue["request__payload"] or 0,
        "cancel": queue["cancel"] or 0,
        "decision__ready": 1,
        "done__ready": 1,
        "release__valid": queue["release__valid"] or 0,
        "release__payload": queue["release__payload"] or 0,
    }
    return values


def _from_generator(indexed: Values) -> Inputs:
    """Return what KernelQueue sees of the index generator (1)."""
    # `hit` is the lowest bit of an answer.
    made = bool(indexed["done__valid"]) and not (indexed["done__payload"] or 0) & 1
    return {
        "request__ready": indexed["i__ready"] or 0,
        "needs_release": indexed["needs_release"] or 0,
        "decision__valid": indexed["decision__valid"] or 0,
        "decision__payload": indexed["decision__payload"] or 0,
        "made": int(made),
    }
