"""Cycle model of LaunchPath: the launch path with stream queues."""

from collections import deque
from collections.abc import Mapping

from warploom_golden.dispatch import BlockDispatcher
from warploom_golden.index import IndexGenerator
from warploom_golden.launch.kernel_queue import KernelQueue
from warploom_golden.launch.launch_check import LaunchCheck
from warploom_golden.launch.record_queue import RecordQueue
from warploom_spec import layouts, queue_packets
from warploom_spec.config import Config
from warploom_spec.host_errors import HostError
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import MODE_WORD
from warploom_spec.timing import timing

Values = dict[str, int | None]

CLOCK_BITS = 64
#: What KernelQueue keeps of the clock.
LOW_CLOCK = (1 << 32) - 1
#: Ports that are KernelQueue's own, as they are.
QUEUE_INPUTS = (
    "command",
    "abort__valid",
    "abort__payload",
    "clear_stream",
    "launch_timeout",
    "soft_reset_active",
    "restart",
)
QUEUE_OUTPUTS = (
    "room",
    "answer",
    "command_answer",
    "abort__ready",
    "abort_answer",
    "put_back",
    "timeline",
    "record",
    "idle",
)
#: Outputs of the dispatcher that only KernelQueue reads.
DISPATCHER_INNER = (
    "launch__ready",
    "ended__valid",
    "ended__payload",
    "ended_number",
    "started",
    "yields",
)
#: Outputs of the index generator that are the whole's, as they are.
INDEX_OUTPUTS = ("written", "written_valid", "read__ready", "data__payload", "data__valid")


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
        The number of each launch's first block, for tests of its wrap. KernelQueue has 0 instead:
        what passes between it and the dispatcher is inverted where this has a 1.
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
        self._config = config
        self._first_number = first_number
        self._depth = timing(config).launch_check
        self._first_clock = first_clock
        self._check = LaunchCheck(config)
        self._queue = KernelQueue(config, first_ticket=first_ticket, first_count=first_count)
        self._generator = IndexGenerator(config) if config.makes_indices else None
        self._dispatcher = BlockDispatcher(config, preempts=True)
        self._record_queue = RecordQueue(config)
        self._launch = queue_packets.queued_launch(config)
        self._descriptor = layouts.launch_descriptor(config)
        self._sent = queue_packets.queue_sent(config)
        self._leaving = layouts.checked_launch(config)
        self._checked = queue_packets.queue_launch(config)
        self._dispatched = layouts.dispatch_launch(config)
        self._pairs = [field.name for field in self._sent.fields if field.name.startswith("wait")]
        self._all_lost = (1 << config.sms) - 1
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
        self._no_sm = 0
        # Mode and waits beside LaunchCheck, the launch that leaves it last (3).
        self._beside: deque[dict[str, int]] = deque([{}] * self._depth, maxlen=self._depth)

    def outputs(self, inputs: Mapping[str, int]) -> Values:
        """Return the outputs of this cycle."""
        queue = self._queue.outputs({})
        dispatched = self._dispatcher.outputs(self._to_dispatcher(inputs, queue))
        records = self._record_queue.outputs({})
        inner = DISPATCHER_INNER
        values = {name: value for name, value in dispatched.items() if name not in inner}
        values["dispatch_error"] = values.pop("error")
        values["dispatch_error_count"] = values.pop("error_count")
        values |= {name: queue[name] for name in QUEUE_OUTPUTS}
        values |= {
            "launch__ready": 1,  # 2
            "oldest": records["oldest"],
            "records": records["records"],
            "clock": self._clock,
        }
        if self._generator is not None:
            indexed = self._generator.outputs(self._to_generator(inputs, queue))
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
        """Advance by one clock edge."""
        queue = self._queue.outputs({})
        taken = self._record_queue.outputs({})["record_taken"] or 0
        to_dispatcher = self._to_dispatcher(inputs, queue)
        dispatched = self._dispatcher.outputs(to_dispatcher)
        launch = self._launch.unpack(inputs["launch__payload"]) if inputs["launch__valid"] else None
        to_check = self._to_check(inputs, launch)
        to_queue = {name: inputs[name] for name in QUEUE_INPUTS} | {
            "sent": self._pack_sent(launch),
            "checked": self._pack_checked(),
            "clock": self._clock & LOW_CLOCK,
            "no_sm": self._no_sm,
            "record_taken": taken,
            "launch__ready": dispatched["launch__ready"] or 0,
            "started": dispatched["started"] or 0,
            "yields": dispatched["yields"] or 0,
            "ended__valid": dispatched["ended__valid"] or 0,
            "ended__payload": dispatched["ended__payload"] or 0,
            "ended_number": (dispatched["ended_number"] or 0) ^ self._first_number,
        }
        if self._generator is not None:
            to_generator = self._to_generator(inputs, queue)
            indexed = self._generator.outputs(to_generator)
            to_queue |= {
                "request__ready": indexed["i__ready"] or 0,
                "decision__valid": indexed["decision__valid"] or 0,
                "decision__payload": indexed["decision__payload"] or 0,
                "release__ready": 1,
            }
            self._generator.tick(to_generator)
        no_sm = int(self._dispatcher.lost == self._all_lost)
        self._check.tick(to_check)
        self._queue.tick(to_queue)
        self._dispatcher.tick(to_dispatcher)
        self._record_queue.tick({"record": queue["record"] or 0, "pop": inputs["pop"]})
        self._no_sm = no_sm  # 9
        self._beside.append({} if launch is None else self._keep(launch))
        self._clock = (self._clock + 1) % (1 << CLOCK_BITS)  # 8
        if inputs["restart"]:
            self._dispatcher.restart()
            self._forget()

    # Launch

    def _to_check(
        self, inputs: Mapping[str, int], launch: Mapping[str, int] | None
    ) -> dict[str, int]:
        """Return LaunchCheck's inputs: the low bits of the mode are its own (1)."""
        word = 0
        if launch is not None:
            fields = {field.name: launch[field.name] for field in self._descriptor.fields}
            fields["mode"] &= (1 << layouts.MODE_BITS) - 1
            word = self._descriptor.pack(fields)
        return {
            "i__valid": int(launch is not None),
            "i__payload": word,
            "o__ready": 1,
            "tables": inputs["tables"],
        }

    def _keep(self, launch: Mapping[str, int]) -> dict[str, int]:
        """Return what travels beside LaunchCheck (3)."""
        return {name: launch[name] for name in ("mode", *self._pairs)}

    def _pack_sent(self, launch: Mapping[str, int] | None) -> int:
        """Return what stands at the queue's ``sent`` (2)."""
        if launch is None:
            return 0
        names = ("stream", "priority", *self._pairs)
        return self._sent.pack({"valid": 1, **{name: launch[name] for name in names}})

    def _pack_checked(self) -> int:
        """Return what stands at the queue's ``checked`` (3, 4)."""
        word = self._check.outputs({"o__ready": 1})["o__payload"]
        if word is None:
            return 0
        fields = {"valid": 1, **self._leaving.unpack(word), **self._beside[0]}
        if not fields["error"] and fields["mode"] > Mode.YIELD:
            fields |= {"error": HostError.FIELD_RANGE, "argument": MODE_WORD}
        return self._checked.pack(fields)

    # Wires

    def _to_dispatcher(self, inputs: Mapping[str, int], queue: Values) -> dict[str, int]:
        """Return the dispatcher's inputs (1)."""
        word = queue["launch__payload"] or 0
        return dict(inputs) | {
            "launch__valid": queue["launch__valid"] or 0,
            "launch__payload": word,
            "launch_priority": self._dispatched.unpack(word)["priority"],
            "launch_yields": queue["launch_yields"] or 0,
            "launch_number": (queue["launch_number"] or 0) ^ self._first_number,
            "stop": queue["stop"] or 0,
            "ended__ready": 1,
        }

    def _to_generator(self, inputs: Mapping[str, int], queue: Values) -> dict[str, int]:
        """Return the index generator's inputs (1, 7)."""
        return {
            "i__valid": queue["request__valid"] or 0,
            "i__payload": queue["request__payload"] or 0,
            "cancel": queue["cancel"] or 0,
            "decision__ready": 1,
            "done__ready": 1,
            "release__valid": queue["release__valid"] or 0,
            "release__payload": queue["release__payload"] or 0,
            "read__valid": inputs["read__valid"],
            "read__payload": inputs["read__payload"],
            "data__ready": inputs["data__ready"],
        }
