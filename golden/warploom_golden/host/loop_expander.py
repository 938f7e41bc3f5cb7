"""Cycle model of LoopExpander: it writes a loop's launches into a task register, and rings."""

from collections import deque
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum, auto
from typing import NamedTuple

from warploom_golden.host.loop_state import Loop, Stop
from warploom_golden.host.loop_templates import Templates
from warploom_spec import host_packets, loop_packets, timing
from warploom_spec.config import Config
from warploom_spec.host_commands import STEP_WORD
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import find_template, section_address

ALL_STROBES = 0b1111
COUNT_MASK = (1 << 32) - 1
#: Lowest bit of the argument in an end's data.
ARGUMENT_LOW = 16

Inputs = Mapping[str, int]


class Cycle(NamedTuple):
    """What comes in in one cycle, unpacked."""

    #: A host writes, to whatever address.
    writes: bool
    begin: Mapping[str, int]
    answers: Mapping[str, int]
    loop_end: Mapping[str, int]
    #: A bit a priority; 0 without a place for a record.
    room: int
    #: A bit a loop.
    stops: int


#: The walker: a cycle at each ``yield``, which gives what comes in in this cycle.
Walk = Generator[None, Cycle, None]


#: The code of a loop that was stopped so. Mailbox keeps that of a refusal.
END_CODES = {
    None: HostError.OK,
    Stop.FAILED: HostError.LAUNCH_FAILED,
    Stop.REFUSED: HostError.OK,
    Stop.HOST: HostError.LOOP_STOPPED,
}


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
        """Clear everything but the templates' words; a write that commits meanwhile is dropped."""
        self._templates.undo()
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
        cycle = self._unpacked(inputs, bool(write["valid"]))
        if off:
            self._forget()
        else:
            self._walk.send(cycle)
            self._move(cycle)
        self._count(cycle)
        if not off:
            self._arrive(cycle)
        self._committing, self._was_in_use, self._shut = write, was_in_use, active

    def _unpacked(self, inputs: Inputs, writes: bool) -> Cycle:
        return Cycle(
            writes=writes,
            begin=self._begin.unpack(inputs["begin"]),
            answers=self._answers.unpack(inputs["answers"]),
            loop_end=self._loop_end.unpack(inputs["loop_end"]),
            room=inputs["room"] if inputs["records_left"] else 0,
            stops=inputs["loop_stop"] >> self._config.first_loop_section,
        )

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
        self._templates.settle()
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

    def _count(self, cycle: Cycle) -> None:
        """Rule 9: a launch has ended."""
        end = cycle.loop_end
        if not end["valid"]:
            return
        loop = self._loops[end["loop"]]
        loop.ended = loop.ended + 1 & COUNT_MASK
        loop.finished = loop.finished + end["finished"] & COUNT_MASK
        if not end["finished"]:
            loop.stop(Stop.FAILED)

    def _arrive(self, cycle: Cycle) -> None:
        """Rules 7, 8 and 10, behind rule 9: it counts before the others."""
        if cycle.begin["valid"]:
            self._loops[cycle.begin["loop"]].begin(cycle.begin)
        for number, loop in enumerate(self._loops):
            accepted, full, refused = (
                cycle.answers[name] >> number & 1 for name in ("accepted", "full", "refused")
            )
            loop.awaits &= not (accepted or full or refused)
            loop.accepted = loop.accepted + accepted & COUNT_MASK
            loop.again |= bool(full)
            if refused:
                loop.stop(Stop.REFUSED)
            if cycle.stops >> number & 1:
                loop.stop(Stop.HOST)

    # The pipe

    def _stands(self, cycle: Cycle) -> bool:
        """Rule 5; a place is 0 without a step."""
        return cycle.writes and self._pipe[-1] != 0

    def _move(self, cycle: Cycle) -> None:
        """Rule 5: what enters is in the first place."""
        if not self._stands(cycle):
            self._pipe.pop()
            self._pipe.appendleft(self._entering)
        self._entering = 0

    def _moves(self) -> Walk:
        """Wait for the first cycle in which the pipe moves."""
        while self._stands((yield)):
            pass

    def _lets(self) -> Walk:
        """Wait for the first cycle without a host's write."""
        while (yield).writes:
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

    def _choose(self, before: int) -> Generator[None, Cycle, int]:
        """Rule 12: return the first loop, behind the one before, that may be chosen."""
        while True:
            cycle = yield
            if self._drains and any(self._pipe):
                continue
            self._drains = False
            answers = cycle.answers
            answered = answers["accepted"] | answers["full"] | answers["refused"]
            for behind in range(1, len(self._loops) + 1):
                number = (before + behind) % len(self._loops)
                loop = self._loops[number]
                begins = loop.begins or (cycle.begin["valid"] and cycle.begin["loop"] == number)
                if begins or (loop.runs and (not loop.awaits or answered >> number & 1)):
                    return number

    def _look(self, number: int) -> Walk:
        """Rule 12: read, decide, and do it."""
        seen = self._seen(number, (yield))
        while True:
            cycle = yield
            does = self._decision(seen)
            if does is Does.BEGIN:
                busy = yield from self._take_slots(number, cycle)
                if busy is not None:
                    yield from self._end(number, HostError.TEMPLATE_BUSY, busy)
                    return
                seen = self._seen(number, (yield))
            elif does is Does.LAUNCH and cycle.begin["valid"]:
                seen = self._seen(number, cycle)
            else:
                yield from self._do(number, does, seen)
                return

    def _seen(self, number: int, cycle: Cycle) -> Seen:
        loop = self._loops[number]
        priority = loop.priority & (1 << self._config.priority_bits) - 1
        return Seen(replace(loop), bool(cycle.room >> priority & 1))

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

    def _take_slots(self, number: int, cycle: Cycle) -> Generator[None, Cycle, int | None]:
        """Rule 13: take a loop's slots, or return the one that is in use."""
        loop = self._loops[number]
        while cycle.loop_end["valid"] or cycle.answers["accepted"]:
            cycle = yield
        loop.accepted = loop.ended = loop.finished = 0
        loop.counts_mean = True
        for slot in self._slots(loop):
            yield from self._lets()
            if slot in self._in_use:
                return slot
            self._in_use.add(slot)
        loop.begins, loop.runs = False, True
        return None

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
            yield from self._lets()
            if slot == busy:
                break
            self._in_use.remove(slot)
        yield from self._moves()
        self._entering = self._packed(number, end=1, data=code | (busy or 0) << ARGUMENT_LOW)
        loop.begins = loop.runs = False
        self._drains = True
