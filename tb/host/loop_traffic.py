"""What stands around LoopExpander: a host, Mailbox and LaunchPath that keep to their pages."""

from tb.host.commands import ALL, READ, WRITE
from tb.support.dispatch_configs import config_of
from warploom_sim.cosim.lockstep import Pace
from warploom_spec import loop_packets
from warploom_spec.host_commands import STEP_FIELDS, STEP_WORD
from warploom_spec.host_map import section_address, template_address, template_numbers

WORD = (1 << 32) - 1
#: How often a host writes: a phase with 1 stops all loops.
WRITES = (0.0, 0.0, 0.3, 0.5, 1.0)
#: Iterations; one that is ended by LOOP_STOP alone.
COUNTS = (0, 1, 1, 2, 2, 3, 3, 5, 9, WORD)
IN_FLIGHT = (0, 1, 1, 2, 3, 255)
#: T11's bit of inline word 0.
FIRST_INLINE_FIELD = 3
#: Slots from the first to the last one, but for those of a whole round.
SPANS = (1, 1, 1, 1, 2, 2, 3, 4)


class OneLoop:
    """A loop as Mailbox and LaunchPath know it."""

    def __init__(self):
        self.runs = False
        #: The answer to its ring, and in how many cycles it may come.
        self.answer, self.answer_in = None, 0
        #: Accepted launches that have not ended.
        self.unfinished = 0
        self.endless = False


class LoopTraffic:
    """Inputs of the expander, cycle by cycle.

    An answer to a ring comes after 1 to 40 cycles, mostly after 3 to 12; a launch may end before
    it. Now and then LaunchPath has no room, a launch is refused or fails, a loop is stopped, or a
    soft reset runs.

    Parameters
    ----------
    config : Config
        Loops and slots.
    rng : callable
        Returns random numbers for a purpose.
    """

    def __init__(self, config, rng):
        self._config, self._rng = config, rng("loops")
        self._begin, self._step = loop_packets.loop_begin(config), loop_packets.loop_step(config)
        self._answers = loop_packets.loop_answers(config)
        self._end = loop_packets.loop_end(config)
        self._numbers = template_numbers(config)
        rates = {
            "write": WRITES,
            "read": (0.0, 0.2, 0.9),
            "begin": (0.002, 0.02, 0.1, 1.0),
            "ends": (0.0, 0.02, 0.3, 1.0),
            "room": (0.2, 0.9, 1.0),
            "records": (0.5, 1.0, 1.0),
        }
        self._paces = {name: Pace(rng(name), rate) for name, rate in rates.items()}
        slots = range(config.loop_templates)
        self._often = self._rng.sample(slots, min(2 * config.loop_sections, len(slots)))
        self._restart()

    def _restart(self):
        self._loops = [OneLoop() for _ in range(self._config.loop_sections)]
        self._active_for = 0
        self._was_active = False
        self._last = None

    def next(self, outputs):
        """Return the next cycle's inputs; ``outputs`` are those of the last cycle."""
        if outputs is None:
            self._restart()
        elif self._last:
            self._see(self._step.unpack(outputs["step"]))
        rng = self._rng
        active = self._soft_reset()
        off = active or self._was_active
        begin, begun = self._some_begin(off)
        answers = self._some_answers(off)
        inputs = {
            "write": self._write() if self._paces["write"]() else 0,
            "read": self._read() if self._paces["read"]() else 0,
            "begin": begin,
            "answers": answers,
            "room": rng.getrandbits(1 << self._config.priority_bits),
            "records_left": int(self._paces["records"]()),
            "loop_end": self._some_end(self._answers.unpack(answers)["refused"]),
            "loop_stop": self._some_stops(begun),
            "soft_reset_active": active,
        }
        if self._paces["room"]():
            inputs["room"] = (1 << (1 << self._config.priority_bits)) - 1
        if off:
            self._loops = [OneLoop() for _ in self._loops]
        self._was_active, self._last = active, inputs
        return inputs

    def _see(self, step):
        """Note a step that was taken in the last cycle."""
        if not step["valid"] or self._last["write"] or self._was_active:
            return
        rng, loop = self._rng, self._loops[step["loop"]]
        if step["end"]:
            self._loops[step["loop"]] = OneLoop()
        elif step["ring"]:
            weights = (10, 3, 2) if loop.unfinished else (20, 3, 1)
            loop.answer = rng.choices(("accepted", "full", "refused"), weights)[0]
            loop.answer_in = rng.choice((0, 1, 5, 5, 5, rng.randint(2, 11), rng.randint(2, 40)))
            loop.unfinished += loop.answer == "accepted"

    def _soft_reset(self):
        self._active_for -= self._active_for > 0
        if self._rng.random() < 0.0007:
            self._active_for = self._rng.randint(1, 12)
        return int(self._active_for > 0)

    def _some_begin(self, off):
        """Return ``begin`` and the section of its loop; Mailbox may judge a LOOP when it is off."""
        rng, config = self._rng, self._config
        idle = [number for number, loop in enumerate(self._loops) if not loop.runs]
        if not idle or not self._paces["begin"]():
            return 0, None
        number, count = rng.choice(idle), rng.choice((*COUNTS, rng.randint(1, 50)))
        first = self._some_slot()
        span = config.loop_templates if rng.random() < 0.03 else rng.choice(SPANS)
        self._loops[number].runs, self._loops[number].endless = not off, count == WORD
        words = {"valid": 1, "loop": number, "count": count, "first_slot": first}
        words["last_slot"] = (first + span - 1) % config.loop_templates
        words["in_flight"] = rng.choice(IN_FLIGHT)
        return self._begin.pack(words), config.first_loop_section + number

    def _some_slot(self):
        if self._rng.random() < 0.9:
            return self._rng.choice(self._often)
        return self._rng.randrange(self._config.loop_templates)

    def _some_answers(self, off):
        """Return the answers of this cycle: no more of a kind than Mailbox can give at once."""
        left = {"accepted": 1, "full": 1, "refused": 2}
        masks = dict.fromkeys(left, 0)
        for number, loop in enumerate(self._loops):
            kind = loop.answer
            if kind is None:
                continue
            loop.answer_in -= loop.answer_in > 0
            if (loop.answer_in and not off) or not left[kind]:
                continue
            left[kind] -= 1
            masks[kind] |= 1 << number
            loop.answer = None
        return self._answers.pack(masks)

    def _some_end(self, refused):
        """Return a launch's end; often one fails in the cycle in which another is refused."""
        rng = self._rng
        unfinished = [number for number, loop in enumerate(self._loops) if loop.unfinished]
        failing = [number for number in unfinished if refused >> number & 1]
        if failing and rng.random() < 0.8:
            number, finished = failing[0], False
        elif unfinished and self._paces["ends"]():
            number, finished = rng.choice(unfinished), rng.random() < 0.97
        else:
            return 0
        self._loops[number].unfinished -= 1
        return self._end.pack({"valid": 1, "loop": number, "finished": finished})

    def _some_stops(self, begun):
        """Return LOOP_STOP's mask; it may name sections that run no loop, or have none."""
        rng, mask = self._rng, 0
        if begun is not None and rng.random() < 0.05:
            mask |= 1 << begun
        for number, loop in enumerate(self._loops):
            if rng.random() < (0.005 if loop.runs and loop.endless else 0.0003):
                mask |= 1 << self._config.first_loop_section + number
        return mask | (rng.getrandbits(self._config.sections) if rng.random() < 0.0003 else 0)

    # The bus

    def _write(self):
        rng = self._rng
        slot, steps = self._some_slot(), rng.random() < 0.4
        number = STEP_WORD if rng.random() < 0.25 else rng.choice(self._numbers)
        if rng.random() < 0.05:
            number = rng.randrange(32)
        address = template_address(slot, number, steps=steps) // 4
        if rng.random() < 0.03:
            address = rng.getrandbits(14)
        strobes = rng.choice((ALL, 0, rng.getrandbits(4))) if rng.random() < 0.1 else ALL
        data = self._changes() if number == STEP_WORD else self._data()
        return WRITE.pack({"valid": 1, "address": address, "data": data, "strobes": strobes})

    def _data(self):
        rng = self._rng
        return rng.choice((0, 1, WORD, 0xFFFF, 1 << 31, rng.getrandbits(32), rng.getrandbits(32)))

    def _changes(self):
        """Return a T11: few fields that change, and some of them alternate; or any."""
        rng = self._rng
        if rng.random() < 0.2:
            return rng.getrandbits(32)
        there = range(FIRST_INLINE_FIELD + self._config.inline_args)
        fields = rng.sample(there, rng.choice((0, 1, 1, 2, 3)))
        changes = sum(1 << field for field in fields)
        return changes | (changes & rng.getrandbits(STEP_FIELDS)) << 16

    def _read(self):
        """Return a read: of a loop's counts, of a template's word, or of anything."""
        rng, config = self._rng, self._config
        section = config.first_loop_section + rng.randrange(config.loop_sections)
        counts = section_address(section, rng.choice(("RESULT2", "RESULT3")))
        word = template_address(self._some_slot(), rng.randrange(32), steps=rng.random() < 0.5)
        anything = 4 * rng.getrandbits(14)
        (address,) = rng.choices((counts, word, anything), (6, 3, 1))
        return READ.pack({"valid": 1, "address": address // 4})


class Surroundings(LoopTraffic):
    """The same for a lockstep."""

    def __init__(self, context):
        super().__init__(config_of(context.params["config"]), context.case.rng)


#: Launches of a long loop: of its counts bits 0 to 11, and 15, are 1 when it ends.
LONG = 0x8FFF


class LongLoops(Surroundings):
    """One loop at a time over one slot: all is accepted, and ends, at once, for `LONG` launches.

    So all bits of its counts up to bit 15 change. Then it is stopped, and one begins anew.
    """

    def _restart(self):
        super()._restart()
        self._left = 0

    def _soft_reset(self):
        return 0

    def _some_begin(self, off):
        if any(loop.runs for loop in self._loops):
            return 0, None
        number, slot = self._rng.randrange(len(self._loops)), self._some_slot()
        self._loops[number].runs, self._left = True, LONG
        words = {"valid": 1, "loop": number, "count": WORD, "first_slot": slot, "last_slot": slot}
        return self._begin.pack(words | {"in_flight": 2}), None

    def _see(self, step):
        super()._see(step)
        loop = self._loops[step["loop"]]
        if loop.answer is not None:
            loop.answer, loop.answer_in, loop.unfinished = "accepted", 0, 1
            self._left -= 1

    def _some_end(self, refused):
        for number, loop in enumerate(self._loops):
            if loop.unfinished and loop.answer is None:
                loop.unfinished = 0
                return self._end.pack({"valid": 1, "loop": number, "finished": 1})
        return 0

    def _some_stops(self, begun):
        return 0 if self._left > 0 else (1 << self._config.sections) - 1

    def _write(self):
        # So rarely that the loop goes on.
        return super()._write() if self._rng.random() < 0.05 else 0
