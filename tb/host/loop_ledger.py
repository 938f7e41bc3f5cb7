"""A ledger of LoopExpander's ports: each launch is that of a plain loop over the templates."""

from collections import Counter

from tb.host.commands import ALL, READ, WRITE
from warploom_spec import loop_packets
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import (
    find_template,
    section_address,
    template_numbers,
)

#: Everything that a run may show.
EVENTS = (
    *("ends OK", "ends TEMPLATE_BUSY", "ends LAUNCH_FAILED", "ends LOOP_STOPPED"),
    *("ends refused", "ends of no iterations", "busy at a later slot", "a launch is rung again"),
    *("a launch of a ring alone", "a launch of one field", "a launch of another loop between"),
    *("a step stands", "a write to a slot in use is refused", "a write with a strobe missing"),
    *("slots wrap", "three iterations", "a soft reset interrupts a loop", "all loops run"),
    *("a launch ends before its answer", "an end and an answer in one cycle"),
    *("begin and LOOP_STOP in one cycle", "a stop while a ring is under way"),
    *("two answers in one cycle", "a count is read", "a failure and a refusal in one cycle"),
)


def plain_launches(config, halves, slots, count):
    """Yield number and words of each launch of a loop, as a host would make them.

    Parameters
    ----------
    config : Config
        Which words a launch has.
    halves : function
        Returns the word of (slot, second half, number).
    slots : sequence of int
        The templates, in their order.
    count : int
        Iterations.
    """
    for i in range(count):
        for slot in slots:
            words = {n: halves(slot, False, n) for n in template_numbers(config) if n != 11}
            changes = halves(slot, False, 11)
            wide = {2: (3, 4), **{3 + k: (12 + 2 * k, 13 + 2 * k) for k in range(8)}}
            for field in (f for f in range(3 + config.inline_args) if changes >> f & 1):
                numbers = wide.get(field, (6 + field,))
                if changes >> 16 + field & 1:
                    words |= {n: halves(slot, i % 2 == 1, n) for n in numbers}
                elif field == 1:
                    first, step = halves(slot, False, 7), halves(slot, True, 7)
                    low = first + i * step & 0xFFFF
                    words[7] = low | ((first >> 16) + i * (step >> 16) & 0xFFFF) << 16
                else:
                    first, step = (
                        sum(halves(slot, steps, n) << 32 * k for k, n in enumerate(numbers))
                        for steps in (False, True)
                    )
                    value = first + i * step
                    words |= {n: value >> 32 * k & 0xFFFFFFFF for k, n in enumerate(numbers)}
            words[0] = words[0] >> 8 << 8 | 2
            yield i, words


class Running:
    """A loop from its begin to its end."""

    def __init__(self, begin, slots, launches):
        self.begin, self.slots, self._launches = begin, slots, launches
        #: Words that were written since the last ring.
        self.wrote = 0
        self.awaits = self.again = False
        self.reason, self.late_rings = None, 0
        self.accepted = self.ended = self.finished = self.rung = 0
        #: Cycles without a host's write in which it might have gone on.
        self.idle = 0

    def next_launch(self):
        """Return iteration and words of the launch that is rung next."""
        launch = next(self._launches, None)
        assert launch is not None, "a launch behind the last one"
        return launch

    @property
    def may_go_on(self):
        """Whether nothing but the expander keeps it from its end, or from its next launch."""
        if self.awaits or self.again and self.reason is None:
            return False
        if self.reason is not None or self.is_over:
            return self.ended == self.accepted
        return self.accepted - self.ended < (self.begin["in_flight"] or 4)

    def stop(self, reason):
        """Stop it, if it is not stopped yet."""
        self.reason = self.reason or reason

    @property
    def is_launching(self):
        """Whether it holds its slots for sure."""
        return self.awaits or bool(self.wrote and self.reason is None)

    @property
    def is_over(self):
        """Whether all launches were rung."""
        return self.rung == self.begin["count"] * len(self.slots)


class LoopLedger:
    """Holds the expander's ports against a plain loop, and counts what happened.

    Parameters
    ----------
    config : Config
        Loops and slots.
    knows_templates : bool
        Whether all templates are 0 at first. If not, a launch's words are not looked at.
    """

    def __init__(self, config, *, knows_templates=False):
        self._config, self._knows_templates = config, knows_templates
        self._packets = {
            "begin": loop_packets.loop_begin(config),
            "answers": loop_packets.loop_answers(config),
            "loop_end": loop_packets.loop_end(config),
        }
        self._step = loop_packets.loop_step(config)
        self._words = Counter()
        self._tasks = {}
        # A launch's words and a walk over all slots, for each loop and twice.
        a_turn = 32 + 2 * config.loop_templates
        self._patience = 2 * config.loop_sections * a_turn
        self.happened = Counter(dict.fromkeys(EVENTS, 0))
        self.loops = self.launches = 0
        self._forget()

    def reset(self):
        """Note a cycle with reset. Whether a write commits in it is not seen."""
        self._knows_templates = False
        self._forget()

    def counts(self):
        """Return how often each event has happened."""
        return dict(self.happened)

    def _forget(self):
        #: The write that commits in this cycle; whether no loop ran in the one before.
        self._writing, self._free = WRITE.unpack(0), True
        self._reading = [READ.unpack(0)] * 2
        self._was_active = False
        #: Finished and accepted launches of each loop that has ended.
        self._outcomes = {}
        self._running = {}
        self._stands = None
        self._wrote_last = None

    def see(self, cycle, inputs, outputs):
        """Note a cycle."""
        del cycle
        active = bool(inputs["soft_reset_active"])
        came = {name: packet.unpack(inputs[name]) for name, packet in self._packets.items()}
        step = self._step.unpack(outputs["step"])
        assert self._stands in (None, outputs["step"]), "a step that stands has changed"
        off = active or self._was_active
        self._see_write(inputs, outputs["write_refused"])
        self._see_read(inputs, outputs["result"])
        self._demand_progress(inputs["write"])
        stands = step["valid"] and inputs["write"]
        self._stands = outputs["step"] if stands and not off else None
        self.happened["a step stands"] += bool(stands)
        if step["valid"] and not stands and not off:
            self._see_step(step)
        if off:
            self.happened["a soft reset interrupts a loop"] += len(self._running)
            self._running = {}
        else:
            self._see_arrivals(came, inputs["loop_stop"] >> self._config.first_loop_section)
        self._was_active = active

    # The bus

    def _template(self, write):
        return find_template(self._config, 4 * write["address"]) if write["valid"] else None

    def _see_write(self, inputs, refused):
        """Hold that the write that commits was refused, or note it."""
        write, free = self._writing, self._free
        # The slots of a loop that has begun in this cycle are taken later.
        self._writing, self._free = WRITE.unpack(inputs["write"]), not self._running
        if not write["valid"]:
            return
        place = self._template(write)
        if self._was_active or place is None:
            assert refused, f"a write is not refused: {write}"
        elif not write["strobes"]:
            assert not refused, "a write without strobes is refused"
        elif write["strobes"] != ALL:
            self.happened["a write with a strobe missing"] += 1
            assert refused, "a write with a strobe missing is not refused"
        elif refused:
            assert not free, f"slot {place[0]} is in use by no loop"
            self.happened["a write to a slot in use is refused"] += 1
        else:
            launching = (r for r in self._running.values() if r.is_launching)
            assert not any(place[0] in r.slots for r in launching), f"slot {place[0]} is written"
            self._words[place] = write["data"]

    def _see_read(self, inputs, found):
        """Hold ``result`` against the read of two cycles before."""
        read = self._reading.pop()
        self._reading.insert(0, READ.unpack(inputs["read"]))
        for number, outcome in self._outcomes.items():
            section = self._config.first_loop_section + number
            for name, want in outcome.items():
                if read["valid"] and 4 * read["address"] == section_address(section, name):
                    self.happened["a count is read"] += 1
                    assert found == want, f"{name} of loop {number} is {found}; legal: {want}"

    def _demand_progress(self, write):
        """Hold that no loop is forgotten: each of the others comes before it once or twice."""
        for number, running in self._running.items():
            running.idle = running.idle + (not write) if running.may_go_on else 0
            assert running.idle < self._patience, f"loop {number} stands still"

    # Steps

    def _see_step(self, step):
        """Hold a step that is taken against what its loop may do."""
        number = step["loop"]
        assert number in self._running, f"a step of loop {number}, which does not run"
        running = self._running[number]
        assert not running.awaits, "a step while an answer is awaited"
        if step["end"]:
            self._see_end(number, running, step["data"])
        elif step["ring"]:
            self._see_ring(number, running)
        else:
            assert not running.again, "words while the launch is to be rung again"
            assert step["word"] in template_numbers(self._config) and step["word"] != 11
            self._tasks[number, step["word"]] = step["data"]
            running.wrote += 1

    def _see_ring(self, number, running):
        if running.reason is not None:
            self.happened["a stop while a ring is under way"] += 1
            running.late_rings += 1
            assert running.late_rings == 1, "two launches of a loop that is stopped"
        if running.again:
            self.happened["a launch is rung again"] += 1
        else:
            self._see_launch(number, running)
        running.again, running.awaits, running.wrote, running.idle = False, True, 0, 0

    def _see_launch(self, number, running):
        """Hold a launch against the plain loop's."""
        most = running.begin["in_flight"] or 4
        assert running.accepted - running.ended < most, "too many launches in flight"
        iteration, words = running.next_launch()
        others = (r for n, r in self._running.items() if n != number and r.rung)
        assert not any(set(running.slots) & set(r.slots) for r in others), "a slot of two loops"
        if self._knows_templates:
            found = {n: self._tasks.get((number, n), 0) for n in words}
            wrong = {n: (hex(found[n]), hex(words[n])) for n in words if found[n] != words[n]}
            assert not wrong, f"words of loop {number} in iteration {iteration}: {wrong}"
            self.launches += 1
        running.rung += 1
        alone = len(running.slots) == 1 and iteration
        between = self._wrote_last not in (None, number)
        for name, it_did in {
            "a launch of a ring alone": not running.wrote,
            "a launch of one field": 0 < running.wrote <= 2,
            "a launch of another loop between": alone and between,
            "three iterations": iteration > 1,
            "slots wrap": running.slots[-1] < running.slots[0],
        }.items():
            self.happened[name] += bool(it_did)
        self._wrote_last = number

    def _see_end(self, number, running, data):
        code, argument = HostError(data & 0xFFFF), data >> 16
        assert running.ended == running.accepted, "a LOOP ends before its launches"
        if code == HostError.TEMPLATE_BUSY:
            others = [r for n, r in self._running.items() if n != number]
            assert argument in running.slots and not running.rung
            assert any(argument in r.slots for r in others), f"slot {argument} is used by no loop"
            self.happened["busy at a later slot"] += argument != running.slots[0]
        else:
            assert argument == 0
            whole = running.is_over and not running.again
            legal = {
                None: [HostError.OK] * whole,
                "failed": [HostError.LAUNCH_FAILED],
                "refused": [HostError.OK],
                # LOOP_STOP may come behind the look that ends the loop.
                "stopped": [HostError.LOOP_STOPPED] + [HostError.OK] * whole,
            }[running.reason]
            assert code in legal, f"{code!r}, stopped: {running.reason}; whole: {whole}"
        self.happened[f"ends {code.name}"] += 1
        self.happened["ends refused"] += running.reason == "refused"
        self.happened["ends of no iterations"] += not running.begin["count"]
        self._outcomes[number] = {"RESULT2": running.finished, "RESULT3": running.accepted}
        del self._running[number]
        self.loops += 1

    # What comes in

    def _see_arrivals(self, came, stops):
        begin, answers, end = came["begin"], came["answers"], came["loop_end"]
        if begin["valid"]:
            self._see_begin(begin)
        masks = sum(answers.values())
        self.happened["two answers in one cycle"] += masks.bit_count() > 1
        self.happened["an end and an answer in one cycle"] += bool(end["valid"] and masks)
        failed = self._see_launch_end(end) if end["valid"] else None
        for number, running in self._running.items():
            accepted, full, refused = (mask >> number & 1 for mask in answers.values())
            if accepted or full or refused:
                assert running.awaits, "the bench answers what was not rung"
                running.awaits, running.again = False, bool(full)
            running.accepted += accepted
            if refused:
                running.stop("refused")
                self.happened["a failure and a refusal in one cycle"] += failed == number
            if stops >> number & 1:
                running.stop("stopped")
                begins = begin["valid"] and begin["loop"] == number
                self.happened["begin and LOOP_STOP in one cycle"] += bool(begins)

    def _see_begin(self, begin):
        number, slots = begin["loop"], self._config.loop_templates
        assert number not in self._running, "the bench begins a loop that runs"
        count = (begin["last_slot"] - begin["first_slot"]) % slots + 1
        names = [(begin["first_slot"] + k) % slots for k in range(count)]
        launches = plain_launches(self._config, self._word, names, begin["count"])
        self._running[number] = Running(begin, names, launches)
        self._outcomes.pop(number, None)
        self.happened["all loops run"] += len(self._running) == self._config.loop_sections

    def _word(self, slot, steps, number):
        return self._words[slot, steps, number]

    def _see_launch_end(self, end):
        """Note the end of a launch; return its loop's number if the launch has failed."""
        running = self._running[end["loop"]]
        early = running.awaits and running.ended == running.accepted
        self.happened["a launch ends before its answer"] += early
        running.ended += 1
        running.finished += end["finished"]
        if end["finished"]:
            return None
        running.stop("failed")
        return end["loop"]
