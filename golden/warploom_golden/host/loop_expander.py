"""Cycle model of LoopExpander: it writes a loop's launches into a task register, and rings."""

from collections import deque
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, auto

from warploom_golden.host.loop_templates import Templates, Words
from warploom_spec import host_packets, loop_packets, timing
from warploom_spec.config import Config
from warploom_spec.host_commands import STEP_WORD
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import find_template, section_address

ALL_STROBES = 0b1111
COUNT_MASK = (1 << 32) - 1
#: What 0 launches in flight count as.
IN_FLIGHT_OF_0 = 4
#: Lowest bit of the argument in an end's data.
ARGUMENT_LOW = 16

Inputs = Mapping[str, int]
#: The walker: a cycle at each ``yield``, which gives the cycle's inputs.
Walk = Generator[None, Inputs, None]


class Stop(IntEnum):
    """Why a loop is stopped; of several in one cycle the first one counts."""

    FAILED = auto()
    REFUSED = auto()
    HOST = auto()


#: The code of a loop that was stopped so. Mailbox keeps that of a refusal.
END_CODES = {
    None: HostError.OK,
    Stop.FAILED: HostError.LAUNCH_FAILED,
    Stop.REFUSED: HostError.OK,
    Stop.HOST: HostError.LOOP_STOPPED,
}


@dataclass
class Loop:
    """What is kept of one loop."""

    begins: bool = False
    runs: bool = False
    awaits: bool = False
    again: bool = False
    stopped: Stop | None = None
    first: int = 0
    last: int = 0
    in_flight: int = 0
    #: Iterations that are not yet behind the last slot; number and slot of the next launch.
    left: int = 0
    iteration: int = 0
    slot: int = 0
    #: Of the launch whose words were written last.
    priority: int = 0
    #: By slot, the words of the iteration before.
    before: dict[int, Words] = field(default_factory=dict)
    accepted: int = 0
    ended: int = 0
    finished: int = 0
    #: Whether ``ended`` and ``finished`` mean something to who reads them.
    counts_mean: bool = False

    def begin(self, words: Mapping[str, int]) -> None:
        """Rule 7: begin with the fields of ``begin``."""
        self.begins, self.awaits, self.again, self.stopped = True, False, False, None
        self.first, self.last = words["first_slot"], words["last_slot"]
        self.slot, self.iteration, self.left = self.first, 0, words["count"]
        self.in_flight = words["in_flight"] or IN_FLIGHT_OF_0

    def stop(self, why: Stop) -> None:
        """Rule 10: stop it, if it is not stopped yet."""
        if self.stopped is None:
            self.stopped = why

    def forget(self) -> None:
        """Rule 19: its counts stay."""
        self.counts_mean &= not (self.begins or self.runs)
        self.begins = self.runs = self.awaits = False


@dataclass(frozen=True)
class Seen:
    """What a look has read: the loop's state, and whether LaunchPath has room for it."""

    loop: Loop
    has_room: bool


class Does(IntEnum):
    """What a look does."""

    BEGIN = auto()
    END = auto()
    RING_AGAIN = auto()
    LAUNCH = auto()
    NOTHING = auto()


class LoopExpander:
    """Cycle model of LoopExpander.

    Ports and rules: ``docs/host/loop_expander.md``. Every method names the rule that it follows.
    The templates' words are 0 at power-up; a reset leaves them as they are.

    Parameters
    ----------
    config : Config
        Loops, slots, and the words of a launch.
    """

    def __init__(self, config: Config) -> None:
        self._config, self._timing = config, timing(config)
        self._write, self._read = host_packets.bus_write(config), host_packets.bus_read(config)
        self._answer = host_packets.bus_answer(config)
        self._begin = loop_packets.loop_begin(config)
        self._answers = loop_packets.loop_answers(config)
        self._step = loop_packets.loop_step(config)
        self._loop_end = loop_packets.loop_end(config)
        self._templates = Templates(config)
        self._counts = {
            section_address(config.first_loop_section + number, word) // 4: (number, name)
            for number in range(config.loop_sections)
            for word, name in (("RESULT2", "finished"), ("RESULT3", "ended"))
        }
        self.reset()

    def reset(self) -> None:
        """Clear everything but the templates' words."""
        self._loops = [Loop() for _ in range(self._config.loop_sections)]
        #: The write that commits in this cycle; whether its slot was in use in the cycle before.
        self._committing = self._write.unpack(0)
        self._was_in_use = False
        #: The read that is sampled in this cycle, and answers, the oldest first.
        self._sampling = self._read.unpack(0)
        self._read_answers: deque[int | None] = deque([None] * self._timing.bus_answer)
        self._result: int | None = None
        self._shut = False
        self._forget()

    def _forget(self) -> None:
        """Rule 19: forget all loops, but for their counts."""
        for loop in self._loops:
            loop.forget()
        #: Places of the pipe, the last one at ``step``: a packed step, or 0.
        self._pipe = deque([0] * self._timing.loop_pipe)
        #: What enters the pipe in this cycle.
        self._entering = 0
        self._in_use: set[int] = set()
        #: No loop is chosen before the pipe is empty.
        self._drains = False
        #: The loop whose launch's words were written last.
        self._wrote_last: int | None = None
        self._walk = self._walker()
        next(self._walk)

    def outputs(self, inputs: Inputs) -> dict[str, int | None]:
        """Return the outputs of this cycle, which depend on the state alone.

        ``write_refused``, ``answer`` and ``result`` are compared in those cycles in which they mean
        something.
        """
        del inputs
        return {
            "write_refused": int(self._refuses()) if self._committing["valid"] else None,
            "answer": self._read_answers[0],
            "step": self._pipe[-1],
            "result": self._result,
        }

    def tick(self, inputs: Inputs) -> None:
        """Advance by one clock edge; everything is judged by the state before it."""
        active, write = bool(inputs["soft_reset_active"]), self._write.unpack(inputs["write"])
        off = active or self._shut
        place = self._place(write["address"])
        was_in_use = place is not None and place[0] in self._in_use
        self._sample(inputs)
        self._perform()
        if off:
            self._forget()
        else:
            self._walk.send(inputs)
            self._move(inputs)
        self._count(inputs)
        if not off:
            self._arrive(inputs)
        self._committing, self._was_in_use, self._shut = write, was_in_use, active

    # Accesses

    def _place(self, word_address: int) -> tuple[int, bool, int] | None:
        """Rule 1: return slot, half and number of a word."""
        return find_template(self._config, 4 * word_address)

    def _refuses(self) -> bool:
        """Rule 2: the first that holds answers."""
        write = self._committing
        if self._shut or self._place(write["address"]) is None:
            return True
        if not write["strobes"]:
            return False
        return write["strobes"] != ALL_STROBES or self._was_in_use

    def _perform(self) -> None:
        """Rule 2 (c) and (f)."""
        write = self._committing
        if not write["valid"] or self._refuses() or not write["strobes"]:
            return
        place = self._place(write["address"])
        assert place is not None, "a write outside the map is refused"
        self._templates.write(*place, write["data"])

    def _sample(self, inputs: Inputs) -> None:
        """Rules 3 and 4: sample the read of this cycle."""
        read = self._sampling
        refused = self._shut or self._place(read["address"]) is None
        answer = self._answer.pack({"refused": int(refused), "data": 0})
        self._read_answers.popleft()
        self._read_answers.append(answer if read["valid"] else None)
        self._result = self._counted(read["address"]) if read["valid"] else None
        self._sampling = self._read.unpack(inputs["read"])

    def _counted(self, word_address: int) -> int | None:
        """Rule 4: return the count that a word shows."""
        if word_address not in self._counts:
            return None
        number, name = self._counts[word_address]
        loop = self._loops[number]
        return getattr(loop, name) if loop.counts_mean else None

    # What comes in

    def _count(self, inputs: Inputs) -> None:
        """Rule 9: a launch has ended."""
        end = self._loop_end.unpack(inputs["loop_end"])
        if not end["valid"]:
            return
        loop = self._loops[end["loop"]]
        loop.ended = loop.ended + 1 & COUNT_MASK
        loop.finished = loop.finished + end["finished"] & COUNT_MASK
        if not end["finished"]:
            loop.stop(Stop.FAILED)

    def _arrive(self, inputs: Inputs) -> None:
        """Rules 7, 8 and 10, behind rule 9: it counts before the others."""
        answers = self._answers.unpack(inputs["answers"])
        begin = self._begin.unpack(inputs["begin"])
        if begin["valid"]:
            self._loops[begin["loop"]].begin(begin)
        stops = inputs["loop_stop"] >> self._config.first_loop_section
        for number, loop in enumerate(self._loops):
            accepted, full, refused = (
                answers[name] >> number & 1 for name in ("accepted", "full", "refused")
            )
            loop.awaits &= not (accepted or full or refused)
            loop.accepted = loop.accepted + accepted & COUNT_MASK
            loop.again |= bool(full)
            if refused:
                loop.stop(Stop.REFUSED)
            if stops >> number & 1:
                loop.stop(Stop.HOST)

    # The pipe

    def _stands(self, inputs: Inputs) -> bool:
        """Rule 5."""
        step = self._step.unpack(self._pipe[-1])
        return bool(step["valid"]) and self._writes(inputs)

    def _writes(self, inputs: Inputs) -> bool:
        return bool(self._write.unpack(inputs["write"])["valid"])

    def _move(self, inputs: Inputs) -> None:
        """Rule 5: what enters is in the first place."""
        if not self._stands(inputs):
            self._pipe.pop()
            self._pipe.appendleft(self._entering)
        self._entering = 0

    def _moves(self) -> Walk:
        """Wait for the first cycle in which the pipe moves."""
        while self._stands((yield)):
            pass

    def _packed(self, number: int, **fields: int) -> int:
        zeros = dict.fromkeys((one.name for one in self._step.fields), 0)
        return self._step.pack(zeros | {"valid": 1, "loop": number} | fields)

    # The walker

    def _walker(self) -> Walk:
        """Rules 11 and 12: look at one loop after the other, for ever."""
        for _ in range(self._timing.loop_sweep):
            yield
        chosen = len(self._loops) - 1
        while True:
            chosen = yield from self._choose(chosen)
            yield from self._look(chosen)

    def _choose(self, before: int) -> Generator[None, Inputs, int]:
        """Rule 12: return the first loop, behind the one before, that may be chosen."""
        while True:
            inputs = yield
            if self._drains and any(self._pipe):
                continue
            self._drains = False
            begin = self._begin.unpack(inputs["begin"])
            answers = self._answers.unpack(inputs["answers"])
            answered = answers["accepted"] | answers["full"] | answers["refused"]
            for behind in range(1, len(self._loops) + 1):
                number = (before + behind) % len(self._loops)
                loop = self._loops[number]
                begins = loop.begins or (begin["valid"] and begin["loop"] == number)
                if begins or (loop.runs and (not loop.awaits or answered >> number & 1)):
                    return number

    def _look(self, number: int) -> Walk:
        """Rule 12: read, decide, and do it."""
        seen = self._seen(number, (yield))
        while True:
            inputs = yield
            does = self._decision(seen)
            if does is Does.BEGIN:
                busy = yield from self._take_slots(number, inputs)
                if busy is not None:
                    yield from self._end(number, HostError.TEMPLATE_BUSY, busy)
                    return
                seen = self._seen(number, (yield))
            elif does is Does.LAUNCH and self._begin.unpack(inputs["begin"])["valid"]:
                seen = self._seen(number, inputs)
            else:
                yield from self._do(number, does, seen)
                return

    def _seen(self, number: int, inputs: Inputs) -> Seen:
        loop = self._loops[number]
        priority = loop.priority & (1 << self._config.priority_bits) - 1
        room = inputs["room"] >> priority & inputs["records_left"]
        return Seen(replace(loop), bool(room))

    def _decision(self, seen: Seen) -> Does:
        """Rule 12, (a) to (e): the first that holds."""
        loop = seen.loop
        if loop.begins:
            return Does.BEGIN
        if loop.stopped is not None or not (loop.left or loop.again):
            return Does.END if loop.ended == loop.accepted else Does.NOTHING
        if loop.again:
            return Does.RING_AGAIN if seen.has_room else Does.NOTHING
        in_flight = loop.accepted - loop.ended & COUNT_MASK
        return Does.LAUNCH if in_flight < loop.in_flight else Does.NOTHING

    def _do(self, number: int, does: Does, seen: Seen) -> Walk:
        if does is Does.END:
            yield from self._end(number, END_CODES[seen.loop.stopped])
        elif does is Does.RING_AGAIN:
            self._loops[number].again = False
            yield from self._ring(number)
        elif does is Does.LAUNCH:
            for word, data in self._next_launch(number):
                yield from self._moves()
                if word != STEP_WORD:
                    self._entering = self._packed(number, word=word, data=data)
            yield from self._ring(number)

    def _slots(self, loop: Loop) -> Iterator[int]:
        """Return a loop's slots from the first to the last, modulo N."""
        slots = self._config.loop_templates
        count = (loop.last - loop.first) % slots + 1
        return ((loop.first + k) % slots for k in range(count))

    def _take_slots(self, number: int, inputs: Inputs) -> Generator[None, Inputs, int | None]:
        """Rule 13: take a loop's slots, or return the one that is in use."""
        loop = self._loops[number]
        while self._comes_to_a_count(inputs):
            inputs = yield
        loop.accepted = loop.ended = loop.finished = 0
        loop.counts_mean = True
        for slot in self._slots(loop):
            while self._writes((yield)):
                pass
            if slot in self._in_use:
                return slot
            self._in_use.add(slot)
        loop.begins, loop.runs = False, True
        return None

    def _comes_to_a_count(self, inputs: Inputs) -> bool:
        end = self._loop_end.unpack(inputs["loop_end"])
        return bool(end["valid"] or self._answers.unpack(inputs["answers"])["accepted"])

    def _next_launch(self, number: int) -> list[tuple[int, int]]:
        """Rules 14 to 16: return what enters, word by word, and move the loop on."""
        loop = self._loops[number]
        words = self._templates.launch(loop.slot, loop.iteration, loop.before.get(loop.slot, {}))
        alone = loop.first == loop.last and loop.iteration > 0 and self._wrote_last == number
        window = self._templates.window(loop.slot)
        enters = [(STEP_WORD, 0), *words.items()]
        if alone:
            enters = [(word, data) for word, data in words.items() if word in window]
        loop.before[loop.slot] = words
        loop.priority, self._wrote_last = self._templates.priority(loop.slot), number
        if loop.slot == loop.last:
            loop.slot, loop.iteration, loop.left = loop.first, loop.iteration + 1, loop.left - 1
        else:
            loop.slot = (loop.slot + 1) % self._config.loop_templates
        return enters

    def _ring(self, number: int) -> Walk:
        """Rule 17."""
        loop = self._loops[number]
        yield from self._moves()
        if loop.stopped is None:
            self._entering = self._packed(number, ring=1)
            loop.awaits = True

    def _end(self, number: int, code: HostError, busy: int | None = None) -> Walk:
        """Rule 18: give slots back, up to the one that was in use, and end."""
        loop = self._loops[number]
        for slot in self._slots(loop):
            while self._writes((yield)):
                pass
            if slot == busy:
                break
            self._in_use.remove(slot)
        yield from self._moves()
        self._entering = self._packed(number, end=1, data=code | (busy or 0) << ARGUMENT_LOW)
        loop.begins = loop.runs = False
        self._drains = True
