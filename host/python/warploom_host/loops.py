"""Launch templates and loops over them: the calls of ``host/c/warploom_loops.c``, in Python."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from warploom_host.driver import HostDriver
from warploom_host.launch_words import Wait
from warploom_host.outcomes import HostTimeout
from warploom_host.streams import Streams
from warploom_spec.errors import WarploomError
from warploom_spec.host_commands import (
    INLINE_WORD,
    STEP_WORD,
    TASK_WORDS,
    Opcode,
    loop_words,
)
from warploom_spec.host_map import template_address
from warploom_spec.host_registers import Interrupt
from warploom_spec.launch import LaunchDescriptor
from warploom_spec.word_layout import WORD_BITS

_WORD: Final = (1 << WORD_BITS) - 1
_HALF_BITS: Final = 16
_LEAST_IN_FLIGHT: Final = 4
#: Numbers of the fields that may change, but inline words: inline word k is ``_INLINE + k``.
_GX, _GRID_YZ, _ARGUMENTS, _INLINE = range(4)


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What some fields of a template step by, or their other values; None: it does not change.

    Attributes
    ----------
    gx, arguments : int, optional
        Of the grid's x, modulo 2^32, and of the argument pointer, modulo 2^64.
    grid_yz : tuple of int, optional
        Of the grid's y and z, modulo 2^16 each.
    inline : dict of int to int
        Of inline words, by number, modulo 2^64.
    """

    gx: int | None = None
    grid_yz: tuple[int, int] | None = None
    arguments: int | None = None
    inline: dict[int, int] = field(default_factory=dict)

    def words(self, inline_args: int) -> dict[int, dict[int, int]]:
        """Return by number of each field that changes its words in a template's second half.

        Raises
        ------
        WarploomError
            If there is no such inline word.
        """
        found: dict[int, dict[int, int]] = {}
        if self.gx is not None:
            found[_GX] = {6: self.gx & _WORD}
        if self.grid_yz is not None:
            y, z = (value & (1 << _HALF_BITS) - 1 for value in self.grid_yz)
            found[_GRID_YZ] = {7: y | z << _HALF_BITS}
        if self.arguments is not None:
            found[_ARGUMENTS] = _two_words(3, self.arguments)
        for number, value in self.inline.items():
            if not 0 <= number < inline_args:
                raise WarploomError(f"inline word is {number}; legal: 0 to {inline_args - 1}")
            found[_INLINE + number] = _two_words(INLINE_WORD + 2 * number, value)
        return found


def _two_words(low: int, value: int) -> dict[int, int]:
    return {low: value & _WORD, low + 1: value >> WORD_BITS & _WORD}


@dataclass(frozen=True)
class LoopOutcome:
    """What became of a loop.

    Attributes
    ----------
    code, argument : int
        0, or why it ended early; the code's argument.
    accepted, finished : int
        Launches that were accepted, and that finished, modulo 2^32.
    """

    code: int
    argument: int
    accepted: int
    finished: int


@dataclass(frozen=True)
class _Loop:
    slots: tuple[int, ...]
    iterations: int
    streams: tuple[int, ...]
    epoch: int


class Templates:
    """The template memory, its slots and the loops over them.

    It has one owner: nobody else writes templates or rings LOOPs of this core.

    Parameters
    ----------
    driver : HostDriver
        The core.
    streams : Streams, optional
        The orders between streams that go on behind loops.

    Raises
    ------
    WarploomError
        If the configuration has no loops.
    """

    def __init__(self, driver: HostDriver, streams: Streams | None = None):
        config = driver._config
        if not config.has_loops:
            raise WarploomError("loop_templates is 0: the core has no loops")
        self._driver = driver
        self._config = config
        self._streams = streams
        # By slot: the first slot of its group, words that stand there (the second half behind the
        # first), and the stream of a whole template that its owner has written.
        self._group: dict[int, int] = {}
        self._known: dict[int, dict[int, int]] = {}
        self._written: dict[int, int] = {}
        self._loops: dict[int, _Loop] = {}

    def take_slots(self, count: int) -> int:
        """Take so many slots that follow each other, modulo the slots; return the first.

        Raises
        ------
        WarploomError
            If there are none.
        """
        slots = self._config.loop_templates
        if not 1 <= count <= slots:
            raise WarploomError(f"count is {count}; legal: 1 to {slots}")
        for first in range(slots):
            wanted = self._slots(first, count)
            if not self._group.keys() & set(wanted):
                self._group |= dict.fromkeys(wanted, first)
                for slot in wanted:
                    self._written.pop(slot, None)
                return first
        raise WarploomError(f"no {count} slots in a row are free")

    def free_slots(self, first: int) -> None:
        """Give back the slots that were taken together."""
        slots = [slot for slot, group in self._group.items() if group == first]
        if not slots:
            raise WarploomError(f"slot {first} is no first slot that was taken")
        self._demand_unused(slots)
        for slot in slots:
            del self._group[slot]

    def write_template(
        self,
        slot: int,
        launch: LaunchDescriptor,
        steps: Steps | None = None,
        alternates: Steps | None = None,
        waits: Sequence[Wait] = (),
    ) -> None:
        """Write a launch, and how it changes, into a slot that was taken. It becomes quiet.

        Only words that differ from what stands there are written. Fields of ``steps`` grow by
        their values from one iteration to the next, those of ``alternates`` have theirs in odd
        iterations.
        """
        if slot not in self._group:
            raise WarploomError(f"slot {slot} was not taken")
        words = self._driver._launches.pack(launch, waits, quiet=True)
        inline = self._config.inline_args
        grows, swaps = ((one or Steps()).words(inline) for one in (steps, alternates))
        if grows.keys() & swaps.keys():
            raise WarploomError("a field steps and alternates; legal: one of them")
        self._demand_unused([slot])
        changes = sum(1 << number for number in grows | swaps)
        words[STEP_WORD] = changes | sum(1 << number for number in swaps) << _HALF_BITS
        chosen = {
            n: words[n] for n in sorted((*self._driver._launches.read(len(waits)), STEP_WORD))
        }
        second: dict[int, int] = {}
        for number in sorted(grows | swaps):
            second |= (grows | swaps)[number]
        chosen |= {TASK_WORDS + n: second[n] for n in sorted(second)}
        self._write(slot, chosen)
        self._written[slot] = launch.stream

    def _write(self, slot: int, chosen: dict[int, int]) -> None:
        """Write words of a slot that differ; after an error nothing of any slot is known."""
        self._written.pop(slot, None)
        known, written = self._known, self._written
        self._known, self._written = {}, {}
        there = known.setdefault(slot, {})
        for number, word in chosen.items():
            if there.get(number) != word:
                half, place = divmod(number, TASK_WORDS)
                address = template_address(slot, place, steps=bool(half))
                self._driver._write(address, word)
                there[number] = word
        self._driver._settle()
        self._known, self._written = known, written

    def submit_loop(
        self, section: int, first: int, count: int, iterations: int, in_flight: int = 0
    ) -> None:
        """Launch so many slots from ``first`` on, in order, ``iterations`` times.

        ``in_flight`` launches may be unfinished at a time; 0: one more than they have streams, at
        least 4, at most half of the queue's entries.
        """
        self._demand_section(section)
        if not 1 <= count <= self._config.loop_templates:
            raise WarploomError(f"count is {count}; legal: 1 to {self._config.loop_templates}")
        slots = self._slots(first, count)
        for slot in slots:
            group = self._group.get(slot)
            if slot not in self._written or group is None or group != self._group.get(first):
                raise WarploomError(f"slot {slot} was not taken with slot {first}, or not written")
            self._demand_unused([slot])
        if section in self._loops:
            raise WarploomError(f"section {section} is busy: take its loop's outcome first")
        streams = tuple(self._written[slot] for slot in slots)
        most = max(self._config.queue_depth // 2, 1)
        in_flight = in_flight or min(max(len(set(streams)) + 1, _LEAST_IN_FLIGHT), most)
        fields = {"opcode": int(Opcode.LOOP), "flags": 0, "parameter": 0, "count": iterations}
        fields |= {"first_slot": slots[0], "last_slot": slots[-1], "in_flight": in_flight}
        words = loop_words(self._config).pack(fields)
        if self._streams:
            self._streams.forget_words(section)
        try:
            self._driver._ring(section, words, range(3))
        except WarploomError:
            raise
        except Exception:
            # Whoever reaches the core no more knows nothing of it.
            self._known, self._written = {}, {}
            raise
        epoch = self._streams.begin_loop(section, frozenset(streams)) if self._streams else 0
        self._loops[section] = _Loop(slots, iterations, streams, epoch)

    def loop_done(self, section: int) -> None:
        """Wait until a section's loop has ended.

        With ``wait_irq`` it sleeps, and clears the interrupt COMMAND_DONE, which must be enabled.

        Raises
        ------
        HostTimeout
            If it does not end.
        """
        self._demand_section(section)
        sleep = self._driver._wait_irq
        for _ in self._driver._turns():
            if sleep:
                # An event that comes after this shows that the command is complete.
                self._driver.write_register("IRQ_STATUS", 1 << Interrupt.COMMAND_DONE)
            if not self._driver.section(section, "DOORBELL"):
                return
            if sleep:
                sleep()
        raise HostTimeout(f"section {section}: its loop did not end")

    def loop_outcome(self, section: int) -> LoopOutcome | None:
        """Return what became of a section's loop; None while it runs.

        Its slots may be written again, and its streams' counts go on.
        """
        self._demand_section(section)
        read = self._driver.section
        if read(section, "DOORBELL"):
            return None
        error = read(section, "ERROR")
        accepted = read(section, "RESULT3")
        # Where all went well each one that was accepted has finished.
        finished = read(section, "RESULT2") if error & 0xFF else accepted
        outcome = LoopOutcome(error & 0xFF, error >> _HALF_BITS, accepted, finished)
        loop = self._loops.pop(section, None)
        if loop and self._streams:
            counts = _launches(loop, outcome)
            self._streams.end_loop(section, loop.epoch, counts, not outcome.code)
        return outcome

    def loop_stop(self, section: int) -> None:
        """Let a section's loop launch nothing more; it ends when its launches have."""
        self._demand_section(section)
        self._driver.write_register("LOOP_STOP", 1 << section)

    def _slots(self, first: int, count: int) -> tuple[int, ...]:
        return tuple((first + k) % self._config.loop_templates for k in range(count))

    def _demand_section(self, section: int) -> None:
        first, sections = self._config.first_loop_section, self._config.sections
        if not first <= section < sections:
            raise WarploomError(f"section is {section}; legal: {first} to {sections - 1}")

    def _demand_unused(self, slots: Sequence[int]) -> None:
        for section, loop in self._loops.items():
            if used := set(loop.slots) & set(slots):
                raise WarploomError(f"slot {min(used)} is busy: section {section} loops over it")


def _launches(loop: _Loop, outcome: LoopOutcome) -> Counter[int]:
    """Return by stream how many launches of a loop were accepted."""
    whole, rest = divmod(outcome.accepted, len(loop.slots))
    if not outcome.code:
        # All of them, also if they are more than 2^32.
        whole, rest = loop.iterations, 0
    found: Counter[int] = Counter()
    for k, stream in enumerate(loop.streams):
        found[stream] += whole + (k < rest)
    return found
