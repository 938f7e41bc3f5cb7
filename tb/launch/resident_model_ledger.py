"""A ledger of ResidentQueue's ports: each ticket one record, order, waits, holds, references."""

from dataclasses import dataclass, field

from tb.launch.resident_model_world import Dispatcher, Filter, Host
from warploom_golden.launch import ResidentQueue
from warploom_spec import queue_packets, resident_packets
from warploom_spec.errors import ErrorCode, Fate
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind
from warploom_spec.queue_packets import COUNT_BITS, WAIT_BITS, QueueOpcode

#: Cycles within which the world must be idle when it winds up.
WIND_UP = 20_000
#: Cycles after which a hold must show.
SETTLED = 4
REFUSALS = (
    *(ErrorCode.STREAM_PRIORITY, ErrorCode.STREAM_BROKEN, ErrorCode.NO_SM, HostError.RESET),
    *(QueueCode.WAIT_AHEAD, ErrorCode.BLOCK_REGISTERS),
)


@dataclass(eq=False)
class Entered:
    """An accepted launch."""

    fields: dict
    ticket: int
    number: int
    clock: int
    waits: list
    kills: int = 0
    recorded: bool = False
    resident_for: int | None = None
    end: dict = field(default_factory=dict)


class Ledger:
    """Sees every cycle; what is wrong fails an assertion.

    Parameters
    ----------
    config : Config
        The machine.
    host : Host
        Who launches.
    first_ticket, first_count : int
        The machine's first numbers.
    """

    def __init__(self, config, host, first_ticket, first_count):
        streams = 1 << config.stream_bits
        self._host, self._ticket, self._first_count = host, first_ticket, first_count
        self._streams = streams
        self._sm_kill = config.sm_kill
        self._packets = {
            "answer": queue_packets.queue_answer(config),
            "timeline": queue_packets.timeline_step(config),
            "killed": queue_packets.queue_stream(config),
            "record": resident_packets.record_word(config),
            "start": resident_packets.resident_start(config),
            "command_answer": queue_packets.queue_code(config),
        }
        self._end = resident_packets.resident_end(config)
        self._command = resident_packets.resident_command(config)
        self._checked = resident_packets.resident_launch(config)
        self._layout = queue_packets.final_record_words(config)
        self._words, self._beside = {}, []
        self._taken, self._commanded = [], None
        self._held_since, self._resumed = {}, {}
        self.launches, self.finals, self.preempts = {}, 0, 0
        self._restart()

    def _restart(self):
        self.by_stream = [[] for _ in range(self._streams)]
        self._timelines = [self._first_count] * self._streams
        self.residents = {}
        self._host.accepted = [self._first_count] * self._streams
        self._host.held, self._held_since = 0, {}

    def see(self, now, inputs, outputs, taken):
        """Judge a cycle."""
        if "checked" in taken:
            self._taken.append(now)
        for name in ("answer", "command_answer", "timeline", "killed", "record"):
            if outputs[name]:
                getattr(self, f"_{name}")(now, self._packets[name].unpack(outputs[name]))
        if "command" in taken:
            self._commanded = self._command.unpack(taken["command"])
        self._see_holds(now, inputs, outputs)
        if outputs["start__valid"] and inputs["start__ready"]:
            self._start(now, self._packets["start"].unpack(outputs["start__payload"]))
        self._see_end(now, inputs, outputs)
        if outputs["idle"]:
            self._idle()
        if inputs["restart"]:
            assert outputs["idle"]
            self._restart()

    def _answer(self, now, answer):
        fields, clock = self._host.asked.popleft(), self._taken.pop(0)
        stream = fields["stream"]
        if answer["code"]:
            assert answer["code"] in REFUSALS and answer["ticket"] == answer["count"] == 0
            return
        assert not fields["error"]
        number = (self._host.accepted[stream] + 1) % (1 << COUNT_BITS)
        assert answer["ticket"] == self._ticket and answer["count"] == number % (1 << WAIT_BITS)
        self._ticket = self._ticket % ((1 << 32) - 1) + 1
        waits = [self._wait(fields, k) for k in range(4) if fields.get(f"wait{k}_valid")]
        self._host.accepted[stream] = number
        entered = Entered(fields, answer["ticket"], number, clock, waits)
        self.launches[answer["ticket"]] = entered
        self.by_stream[stream].append(entered)
        self._host.tickets.append(answer["ticket"])

    def _wait(self, fields, k):
        stream = fields[f"wait{k}_stream"]
        accepted = self._host.accepted[stream]
        back = (accepted - fields[f"wait{k}_count"]) % (1 << WAIT_BITS)
        assert back < 1 << WAIT_BITS - 1, "a launch that waits for what is ahead was accepted"
        return stream, (accepted - back) % (1 << COUNT_BITS)

    def _is_over(self, stream, number):
        return (self._timelines[stream] - number) % (1 << COUNT_BITS) < 1 << COUNT_BITS - 1

    def _command_answer(self, now, answer):
        if answer["code"] or self._commanded is None:
            return
        opcode, mask = self._commanded["opcode"], self._commanded["mask"]
        self.preempts += opcode == QueueOpcode.PREEMPT
        for stream in range(self._streams):
            if mask >> stream & 1 and opcode == QueueOpcode.PREEMPT:
                self._host.held |= 1 << stream
                self._held_since.setdefault(stream, now)
            elif mask >> stream & 1 and opcode == QueueOpcode.RESUME:
                self._host.held &= ~(1 << stream)
                self._held_since.pop(stream, None)
                self._resumed[stream] = now

    def _timeline(self, now, step):
        stream = step["stream"]
        assert step["count"] == (self._timelines[stream] + 1) % (1 << COUNT_BITS)
        self._timelines[stream] = step["count"]
        self.by_stream[stream].pop(0)

    def _start(self, now, start):
        stream = start["stream"]
        head = self.by_stream[stream][0]
        assert stream not in self.residents and not head.recorded, f"start of {head}"
        assert all(self._is_over(*wait) for wait in head.waits), f"{head} did not wait"
        assert start["priority"] == head.fields["priority"]
        assert start["wait_mode"] == (head.fields["mode"] == Mode.WAIT)
        head.resident_for = now
        self.residents[stream] = head

    def _see_end(self, now, inputs, outputs):
        for launch in self._beside:
            age = now - launch.end["at"]
            if age == 2:
                launch.end["first_offer"] = inputs["ended_first"]
            if age == 3:
                launch.end["word2"] = inputs["ended_cycles"]
        self._beside = [launch for launch in self._beside if now - launch.end["at"] < 3]
        if inputs["ended__valid"] and outputs["ended__ready"]:
            end = self._end.unpack(inputs["ended__payload"])
            launch = self.residents.pop(end["stream"])
            launch.end = {**end, "at": now, "begun": inputs["begun"] >> end["stream"] & 1}
            self._beside.append(launch)

    def _killed(self, now, killed):
        launch = self.by_stream[killed["stream"]][0]
        assert launch.end["fate"] == Fate.KILLED and now == launch.end["at"] + 4
        launch.kills = min(launch.kills + 1, 7)
        launch.end = {}

    def _record(self, now, word):
        self._words[word["word"]] = word["data"]
        if not word["last"]:
            return
        record = self._layout.unpack([self._words.get(k, 0) for k in range(8)])
        self._words = {}
        assert record["made"] == now - 1
        if record["kind"] == RecordKind.PREEMPT:
            self.preempts -= 1
            return
        launch = self.launches[record["ticket"]]
        assert not launch.recorded, f"{launch} has two records"
        launch.recorded = True
        self.finals += 1
        self._judge(launch, record)

    def _judge(self, launch, record):
        fields, end = launch.fields, launch.end
        want = {"stream": fields["stream"], "kills": launch.kills, "accepted": launch.clock}
        begun = end.get("begun", 0)
        want |= {"offered": begun} | {
            name: end[name] if begun else 0 for name in ("first_offer", "word2")
        }
        if end and end["fate"] == Fate.FINISHED:
            want |= {"fate": FinalFate.FINISHED, "code": 0}
        elif end and end["fate"] == Fate.FAILED:
            want |= {"fate": FinalFate.FAILED, "code": end["code"]}
        else:
            assert record["fate"] != FinalFate.FINISHED
        assert {name: record[name] for name in want} == want, launch

    def _see_holds(self, now, inputs, outputs):
        """A resident that makes way is held below one that is not held itself."""
        settled = {
            stream: launch
            for stream, launch in self.residents.items()
            if now >= launch.resident_for + SETTLED
        }
        urgent = [
            launch.fields["priority"]
            for stream, launch in settled.items()
            if stream not in self._held_since
            and now >= self._resumed.get(stream, -SETTLED) + SETTLED
        ]
        top = max(urgent, default=0)
        for stream, launch in settled.items():
            mode, hold = launch.fields["mode"], outputs["hold"] >> stream & 1
            if launch.fields["priority"] < top and mode not in (Mode.WAIT, Mode.YIELD):
                assert hold, f"{launch} is not held below {top}"
            if self._held_since.get(stream, now) + SETTLED < now and mode != Mode.WAIT:
                assert hold, f"{launch} is not held by command"

    def _idle(self):
        assert not self.residents and not self.preempts
        for stream, launches in enumerate(self.by_stream):
            assert not launches, f"idle, and {launches} are left"
            assert self._timelines[stream] == self._host.accepted[stream]


class World:
    """A machine, what is around it, and its ledger.

    Parameters
    ----------
    config : Config
        The machine.
    rng : random.Random
        For everything.
    first_ticket, first_count : int
        The machine's first numbers.
    """

    def __init__(self, config, rng, *, first_ticket=1, first_count=0):
        self._rng, self._now = rng, 0
        first = {"first_ticket": first_ticket, "first_count": first_count}
        self.model = ResidentQueue(config, **first)
        self._host = Host(config, rng, first_count)
        self._filter, self._dispatcher = Filter(config, rng), Dispatcher(config, rng)
        self.ledger = Ledger(config, self._host, **first)
        self._entries = (config.queue_depth << config.priority_bits) - 1
        self._limit = 0
        self._resetting = self._restart = 0
        self.outputs = {}

    def run(self, cycles):
        """Run some cycles at random."""
        for _ in range(cycles):
            self._cycle()

    def wind_up(self):
        """Launch nothing more, let everything end, and return in how many cycles it has."""
        self._host.winds_up, start = True, self._now
        while not self.outputs["idle"]:
            self._cycle()
            assert self._now < start + WIND_UP, "it hangs"
        assert not any(self._filter.references), "idle, and entries are referred to"
        return self._now - start

    def reset_softly(self):
        """Let a soft reset end everything; a restart comes in an idle cycle."""
        self._resetting = 1
        self.wind_up()
        self._restart = 1
        self._cycle()
        self._resetting = self._restart = 0
        self.goes_on()

    def goes_on(self):
        """Launch again."""
        self._host.winds_up = False

    def lose_all(self):
        """Lose all SMs."""
        self._dispatcher.sms = False

    def _cycle(self):
        if self._rng.random() < 0.001:
            self._limit = self._rng.choice((0, 200, 1000))
        levels = self._filter.inputs() | self._dispatcher.inputs(self._now)
        levels |= {"fetch": self._rng.randint(0, self._entries), "launch_timeout": self._limit}
        levels |= {"soft_reset_active": self._resetting, "restart": self._restart}
        quiet = dict.fromkeys(("clear_stream__valid",), 0)
        inputs = levels | self._host.inputs(self._now, self.model.outputs(levels | quiet))
        outputs = self.outputs = self.model.outputs(inputs)
        taken = self._host.see(inputs, outputs)
        self._filter.see(inputs, outputs)
        self._dispatcher.see(inputs, outputs)
        self.ledger.see(self._now, inputs, outputs, taken)
        self.model.tick(inputs)
        self._now += 1
