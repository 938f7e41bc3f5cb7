"""LoopExpander's rules and cycles, of RTL and model alike."""

import pytest

from tb.host.accesses import ByCycle, answers, recorded
from tb.host.commands import READ, WRITE, a_read
from tb.support.dispatch_configs import config_of
from tb.support.record import made
from warploom.host import LoopExpander
from warploom_golden.host import LoopExpander as Model
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import template_address
from warploom_spec.loop_packets import loop_answers, loop_begin, loop_end, loop_step

TINY = "tiny"
DEFAULT = "default"
#: Field f changes, and alternates.
CHANGES, ALTERNATES = ((1 << f) for f in (0, 16))
GX, GY_GZ, ARGUMENTS, INLINE0 = range(4)
IDLE = {
    **dict.fromkeys(("begin", "answers", "loop_end", "loop_stop", "soft_reset_active"), 0),
    "records_left": 1,
    "room": 0b1111,
}


@pytest.fixture(params=[LoopExpander, Model], ids=["rtl", "model"])
def kind(request):
    return request.param


def a_template_write(slot, number, data, *, steps=False, strobes=0b1111):
    address = template_address(slot, number, steps=steps) // 4
    return WRITE.pack({"valid": 1, "address": address, "data": data, "strobes": strobes})


#: A write to DOORBELL of section 0: whatever its address, a step stands.
ELSEWHERE = WRITE.pack({"valid": 1, "address": 0x400, "data": 1, "strobes": 0b1111})


def template(slot, words, steps=(), table=0):
    """Return the writes of a template; words that are not named are 0 from power-up on."""
    first = {**words, 11: table}
    written = [a_template_write(slot, number, data) for number, data in first.items()]
    second = dict(steps).items()
    return written + [a_template_write(slot, n, data, steps=True) for n, data in second]


def begin(config, loop, count, first, last=None, in_flight=0):
    last = first if last is None else last
    return loop_begin(config).pack(
        {
            "valid": 1,
            "loop": loop,
            "count": count,
            "first_slot": first,
            "last_slot": last,
            "in_flight": in_flight,
        }
    )


def answer(config, accepted=0, full=0, refused=0):
    fields = {"accepted": accepted, "full": full, "refused": refused}
    return loop_answers(config).pack(fields)


def an_end(config, loop, finished=1):
    return loop_end(config).pack({"valid": 1, "loop": loop, "finished": finished})


class Steps:
    """What was taken at ``step``: by the cycle."""

    def __init__(self, config, seen):
        self._packet = loop_step(config)
        taken = {}
        for cycle, word in enumerate(seen.port("step")):
            step = self._packet.unpack(word) if word else {"valid": 0}
            # A write that is issued in a cycle is recorded in the next one.
            writes = seen.port("write")
            issued = cycle + 1 < len(writes) and writes[cycle + 1]
            if step["valid"] and not issued:
                taken[cycle] = step
        self.taken = taken

    def words(self, loop=0):
        """Return number and data of each word, by cycle."""
        return {
            cycle: (step["word"], step["data"])
            for cycle, step in self.taken.items()
            if step["loop"] == loop and not step["ring"] and not step["end"]
        }

    def rings(self, loop=0):
        return [c for c, step in self.taken.items() if step["ring"] and step["loop"] == loop]

    def ends(self, loop=0):
        return {c: s["data"] for c, s in self.taken.items() if s["end"] and s["loop"] == loop}

    def launches(self, loop=0):
        """Return the section's words at each ring."""
        held, found = {}, []
        for step in self.taken.values():
            if step["loop"] != loop:
                continue
            if step["ring"]:
                found.append(dict(held))
            elif not step["end"]:
                held[step["word"]] = step["data"]
        return found


class Host(ByCycle):
    """Inputs by cycle; each ring that is taken is answered, and its launch ends, later.

    Parameters
    ----------
    config : Config
    ports : mapping
        Of `ByCycle`.
    after : int
        From a ring at ``step`` to its answer; 10 is the page's A = 6.
    runs_for : int
        From the answer to the launch's end.
    """

    def __init__(self, config, ports, after=10, runs_for=7):
        super().__init__(IDLE, ports)
        self._config, self._after, self._runs_for = config, after, runs_for
        self._answers, self._ends = {}, {}
        self._wrote = 0

    def next(self, outputs):
        now = self._cycle
        step = loop_step(self._config).unpack(outputs["step"]) if outputs else {"valid": 0}
        if step["valid"] and step["ring"] and not self._wrote:
            answered = now - 1 + self._after
            self._answers[answered] = answer(self._config, accepted=1 << step["loop"])
            self._ends[answered + self._runs_for] = an_end(self._config, step["loop"])
        inputs = super().next(outputs)
        self._wrote = inputs["write"]
        inputs["answers"] |= self._answers.pop(now, 0)
        inputs["loop_end"] |= self._ends.pop(now, 0)
        return inputs


#: When the page's cycle 0 is: the templates are written before.
START = 60


@pytest.mark.rule("loop_expander", 5, 6, 12, 13, 14, 15, 17, 18)
def test_the_pages_example_cycle_by_cycle(kind):
    config = config_of(DEFAULT)
    words = {3: 0xFFFF_FFF0, 4: 7} | {n: 0x100 + n for n in (1, 2, 5, *range(6, 11), 19, 29)}
    writes = template(5, words, {3: 0x20, 4: 1}, CHANGES << ARGUMENTS)
    events = {
        "begin": {2: begin(config, 0, 2, 5), 62: begin(config, 1, 1, 5)},
        "answers": dict.fromkeys((43, 61), answer(config, accepted=1)),
        "loop_end": dict.fromkeys((70, 80), an_end(config, 0)),
    }
    ports = {name: {START + c: v for c, v in at.items()} for name, at in events.items()}
    block = made(kind, config)
    seen = recorded(block, ByCycle(IDLE, ports | {"write": dict(enumerate(writes))}), START + 96)
    steps = Steps(config, seen)
    order = [*range(11), *range(12, 20), 28, 29]
    whole = {**dict.fromkeys(order, 0), **words, 0: 2}
    expected = {START + 12 + k: (n, whole[n]) for k, n in enumerate(order)}
    # The low word's carry goes into the high one.
    expected |= {START + 49: (3, 0x10), START + 50: (4, 9)}
    assert steps.words() == expected
    assert steps.rings() == [START + 33, START + 51]
    assert steps.ends(1) == {START + 72: HostError.TEMPLATE_BUSY | 5 << 16}
    assert steps.ends() == {START + 89: 0}
    assert not steps.words(1) and not steps.rings(1)


def run(kind, writes=(), events=None, cycles=400, config=TINY, **host):
    """Write templates from cycle 0 on, and let a `Host` answer; return the recording and steps."""
    config = config_of(config)
    ports = {"write": dict(enumerate(writes))} | (events or {})
    seen = recorded(made(kind, config), Host(config, ports, **host), cycles)
    return seen, Steps(config, seen)


@pytest.mark.rule("loop_expander", 14, 16)
def test_each_field_steps_modulo_its_own_width(kind):
    """Four iterations of one slot: negative steps, wraps, halves without a carry, one carry.

    Bits of T11 without a field, bit 16 + f alone, and other words of the second half do nothing.
    """
    words = {0: 0x0000_3107, 2: 5, 3: 1, 4: 0, 6: 2, 7: 0xFFFF_FFFF, 12: 0xFFFF_FFFF}
    words |= {13: 0xFFFF_FFFF, 28: 0xFFFF}
    steps = {3: -2 & 0xFFFF_FFFF, 4: 0xFFFF_FFFF, 6: 0x7FFF_FFFF, 7: 0x0001_0002, 12: 1}
    steps |= {2: 9, 8: 9, 28: 1, 11: 0xFFFF_FFFF}
    table = CHANGES * 0b1111 | CHANGES << 15 | ALTERNATES << 4
    _, found = run(
        kind,
        template(2, words, steps, table),
        {"begin": {60: begin(config_of(TINY), 1, 4, 2)}},
    )
    launches = found.launches(1)
    assert len(launches) == 4
    assert [launch[0] for launch in launches] == [0x0000_3102] * 4
    wide = [launch[3] | launch[4] << 32 for launch in launches]
    assert wide == [(1 - 2 * k) % (1 << 64) for k in range(4)]
    assert [launch[6] for launch in launches] == [2, 0x8000_0001, 0, 0x7FFF_FFFF]
    assert [launch[7] for launch in launches] == [0xFFFF_FFFF, 1, 0x0001_0003, 0x0002_0005]
    assert [(launch[12], launch[13]) for launch in launches] == [
        (0xFFFF_FFFF, 0xFFFF_FFFF),
        *((k, 0) for k in range(3)),
    ]
    unchanged = {n: words.get(n, 0) for n in (1, 2, 5, 8, 9, 10, 28, 29)}
    assert all(launch | unchanged == launch for launch in launches)


@pytest.mark.rule("loop_expander", 14, 15, 16)
@pytest.mark.parametrize("slots", [1, 2])
def test_a_field_alternates_between_its_values(kind, slots):
    """One slot alone writes T6 to T13 again, the words between among them; two write all."""
    config = config_of(TINY)
    table = CHANGES << GX | ALTERNATES << GX | CHANGES << INLINE0
    writes = template(7, {6: 10, 8: 3, 12: 5}, {6: 20, 12: 100}, table)
    writes += template(0, {6: 1, 8: 4}, {6: 1}, CHANGES << GX)
    _, found = run(
        kind,
        writes,
        {"begin": {60: begin(config, 0, 4, 7, (7 + slots - 1) % 8)}},
        cycles=600,
    )
    launches = found.launches()
    assert [launch[6] for launch in launches[::slots]] == [10, 20, 10, 20]
    assert [launch[12] for launch in launches[::slots]] == [5, 105, 205, 305]
    assert {launch[8] for launch in launches[::slots]} == {3}
    if slots == 2:
        assert [(launch[6], launch[8]) for launch in launches[1::2]] == [
            (k, 4) for k in (1, 2, 3, 4)
        ]
        assert len(found.words()) == 8 * 15
        return
    # 15 words are the launch: T11 is no step.
    order = [6, 7, 8, 9, 10, 12, 13]
    assert [n for n, _ in found.words().values()][15:] == order * 3


@pytest.mark.rule("loop_expander", 15)
def test_two_loops_of_one_slot_write_all_words_and_alone_the_ring_only(kind):
    """Nothing changes. While the other loop runs all words are written; then the ring alone."""
    config = config_of(TINY)
    writes = template(1, {6: 3}) + template(4, {6: 4})
    _, found = run(
        kind, writes, {"begin": {40: begin(config, 0, 2, 1), 41: begin(config, 1, 5, 4)}}, 600
    )
    assert [launch[6] for launch in found.launches(0)] == [3, 3]
    assert [launch[6] for launch in found.launches(1)] == [4] * 5
    assert len(found.words(0)) == 2 * 15
    assert len(found.words(1)) == 2 * 15
    # One loop alone without words: A + 10, A = 6.
    assert {b - a for a, b in zip(found.rings(1)[2:], found.rings(1)[3:], strict=False)} == {16}


@pytest.mark.rule("loop_expander", 1, 2, 3)
def test_accesses(kind):
    """The slot is taken in 17, the cycle of `write` of the one that commits in 18."""
    config = config_of(TINY)
    in_map, unused = a_template_write(3, 28, 1), a_template_write(3, 14, 1)
    events = {
        "soft_reset_active": {2: 1},
        "begin": {12: begin(config, 0, 0, 3)},
        "write": {
            2: in_map,
            3: in_map,
            4: in_map,
            5: unused,
            6: a_template_write(3, 28, 1, strobes=0),
            7: a_template_write(3, 28, 1, strobes=0b0111),
            8: a_template_write(3, 14, 1, strobes=0),
            9: WRITE.pack({"valid": 1, "address": 0x2000 + 8 * 64, "data": 1, "strobes": 15}),
            16: a_template_write(3, 6, 1),
            18: a_template_write(2, 6, 1),
            19: a_template_write(3, 6, 1),
            20: a_template_write(3, 6, 1, strobes=0),
        },
        "read": {
            2: 0,
            3: a_read(0, "T0"),
            4: READ.pack({"valid": 1, "address": 0x2000 + 3 * 64 + 28}),
        }
        | {5: READ.pack({"valid": 1, "address": 0x2000 + 3 * 64 + 30})}
        | {6: READ.pack({"valid": 1, "address": 0x2000 + 32})},
    }
    seen, _ = run(kind, (), events, 40)
    assert seen.cycles("write_refused") == [3, 5, 7, 8, 9, 19]
    assert answers(seen) == {3: None, 4: 0, 5: None, 6: 0}


@pytest.mark.rule("loop_expander", 5, 6, 13, 14)
def test_a_write_of_the_host_goes_first(kind):
    """A write in every second cycle: each step stands for one cycle; one in every cycle: none."""
    config = config_of(TINY)
    busy = {"write": dict.fromkeys(range(41, 300, 2), ELSEWHERE)}
    events = busy | {"begin": {30: begin(config, 0, 2, 1, 2)}}
    _, found = run(kind, (), events, 300)
    cycles = [c for c in found.taken if c > 41]
    assert len(found.launches()) == 4 and len(cycles) > 50
    assert all(c % 2 for c in cycles)
    always = {"write": dict.fromkeys(range(20, 120), ELSEWHERE)}
    _, found = run(kind, (), always | {"begin": {30: begin(config, 0, 2, 1, 2)}}, 200)
    # The last write is issued in 118. The slots are taken in 119 and 120; T0 enters in 124.
    assert min(found.taken) == 127


@pytest.mark.rule("loop_expander", 8, 12, 17)
def test_a_launch_without_room_is_rung_again_with_its_words_untouched(kind):
    """Priority 2: its room is looked at, and whether there is a place for a record."""
    config = config_of(TINY)
    writes = template(3, {5: 2 << 24, 6: 9})
    # From 54 on room for priority 2, from 61 on for a record; looks read in each third cycle.
    events = {
        "begin": {20: begin(config, 0, 1, 3)},
        "answers": {50: answer(config, full=1)},
        "room": dict.fromkeys(range(45, 54), 0b1011),
        "records_left": dict.fromkeys(range(45, 61), 0),
    }
    seen = recorded(
        made(kind, config), ByCycle(IDLE, events | {"write": dict(enumerate(writes))}), 90
    )
    found = Steps(config, seen)
    # The look that is chosen in 62 reads in 63: the ring enters in 65.
    assert found.rings() == [45, 68]
    assert len(found.words()) == 15


#: Events in one cycle; the first one's reason counts.
STOPS = {
    "failed": ("loop_end",),
    "refused": ("answers",),
    "stopped": ("loop_stop",),
    "failed and refused": ("loop_end", "answers"),
    "failed and stopped": ("loop_end", "loop_stop"),
    "refused and stopped": ("answers", "loop_stop"),
}
CODES = {
    "loop_end": HostError.LAUNCH_FAILED,
    "answers": 0,
    "loop_stop": HostError.LOOP_STOPPED,
}


@pytest.mark.rule("loop_expander", 4, 8, 9, 10, 18)
@pytest.mark.parametrize("name", STOPS)
def test_the_first_reason_counts(kind, name):
    """The second launch is rung in 54, answered in 64, and ends in 80, if it was not refused.

    The first one ends in 64 or 75, and has not finished. In 75 that changes nothing, nor does
    LOOP_STOP in 66.
    """
    config, ports = config_of(TINY), STOPS[name]
    accepted = "answers" not in ports
    second = answer(config, accepted=2) if accepted else answer(config, refused=2)
    ends = {64 if "loop_end" in ports else 75: an_end(config, 1, finished=0)}
    results = {c: a_read(1, "RESULT2") for c in (95, 96)} | {97: a_read(1, "RESULT3")}
    events = {
        "begin": {20: begin(config, 1, 9, 3)},
        "answers": {50: answer(config, accepted=2), 64: second},
        "loop_end": ends | ({80: an_end(config, 1)} if accepted else {}),
        "loop_stop": {66: 0b11} | ({64: 0b10} if "loop_stop" in ports else {}),
        "read": results,
    }
    seen = recorded(made(kind, config), ByCycle(IDLE, events), 110)
    found = Steps(config, seen)
    assert [*found.ends(1).values()] == [CODES[ports[0]]]
    assert len(found.rings(1)) == 2
    assert seen.port("result")[96:99] == [accepted, accepted, 1 + accepted]


@pytest.mark.rule("loop_expander", 13, 18)
def test_slots_before_one_that_is_in_use_are_given_back(kind):
    """Loop 0 has slot 1. A LOOP from 6 to 2 gives 6, 7 and 0 back; one over them finds them free.

    Loop 0 has a launch that does not end: slot 1 stays in use.
    """
    config = config_of(TINY)
    events = {
        "begin": {
            20: begin(config, 0, 1, 1),
            60: begin(config, 1, 1, 6, 2),
            90: begin(config, 1, 0, 6, 0),
            120: begin(config, 1, 0, 1),
        },
        "answers": {50: answer(config, accepted=1)},
    }
    seen = recorded(made(kind, config), ByCycle(IDLE, events), 150)
    busy = HostError.TEMPLATE_BUSY | 1 << 16
    assert [*Steps(config, seen).ends(1).values()] == [busy, 0, busy]


@pytest.mark.rule("loop_expander", 12)
def test_four_launches_are_unfinished_where_loop_says_0(kind):
    """None ends before 200. The fifth one is rung after the first end."""
    config = config_of(TINY)
    events = {"begin": {20: begin(config, 0, 6, 3)}, "loop_end": {300: an_end(config, 0)}}
    _, found = run(kind, (), events, 330, runs_for=1000)
    assert len([c for c in found.rings() if c < 300]) == 4
    # A look is chosen in each third cycle; no word is written.
    assert min(c for c in found.rings() if c > 300) in range(306, 309)


@pytest.mark.rule("loop_expander", 7, 11, 12, 19)
def test_a_soft_reset_forgets_all_loops_and_keeps_the_templates(kind):
    """Words are under way in 50. The next LOOP over the same slot begins after N / 4 cycles."""
    config = config_of(TINY)
    events = {
        "begin": {
            20: begin(config, 0, 3, 3),
            50: begin(config, 1, 1, 2),
            52: begin(config, 0, 1, 3),
        },
        "answers": {43: answer(config, accepted=1)},
        "soft_reset_active": {50: 1},
        "write": dict(enumerate(template(3, {6: 9}, {6: 1}, CHANGES << GX))),
    }
    seen = recorded(made(kind, config), ByCycle(IDLE, events), 90)
    found = Steps(config, seen)
    second = [c for c in found.taken if c > 50]
    # Off in 50 and 51; swept in 52 and 53; chosen in 54; slot 3 is taken in 57.
    assert min(second) == 57 + 2 + 2 + 3
    assert not found.words(1) and found.words()[min(second) + 6] == (6, 9)
