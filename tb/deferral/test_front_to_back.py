"""A program's calls through front end, message and back end: the same calls in the same order."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom_golden.deferral.back_end import UNKNOWN_FUNCTION, BackEnd
from warploom_golden.deferral.calls import Call, Constant, Group
from warploom_golden.deferral.front_end import DeferredError, FrontEnd
from warploom_golden.deferral.message import MessageError, decode, encode
from warploom_golden.deferral.plan import ArgumentPlan, CallPlan, LoopPlan

MASK = 2**64 - 1


class Gpu:
    """Functions that note how they were called; each result is a new address."""

    def __init__(self, fails_at=None):
        self.log = []
        self._fails_at = fails_at

    def functions(self, names="abcdef"):
        return {name: self._function(name) for name in names}

    def _function(self, name):
        def run(*values):
            if len(self.log) == self._fails_at:
                return 13, 0
            self.log.append((name, *values))
            return 0, 0x7000 + 0x100 * len(self.log)

        return run


class Link:
    """One application's way to a back end; counts messages."""

    def __init__(self, gpu, application=1):
        self.back_end = BackEnd()
        self.back_end.open(application, gpu.functions())
        self._application = application
        self.groups = []

    def send(self, data):
        self.groups.append(decode(data))
        self.back_end.receive(self._application, data)
        return self.back_end.run_next(self._application)


@dataclasses.dataclass(frozen=True)
class Step:
    """One call of a program: values are numbers, bytes, or (earlier step, offset)."""

    site: int
    name: str
    values: tuple


def play(steps, call):
    """Run a program: each call may use the results of earlier ones."""
    results = []
    for step in steps:
        values = [
            (results[value[0]] + value[1]) & MASK if isinstance(value, tuple) else value
            for value in step.values
        ]
        results.append(call(step.site, step.name, *values))


def directly(steps):
    gpu = Gpu()
    functions = gpu.functions()
    play(steps, lambda site, name, *values: functions[name](*values)[1])
    return gpu.log


def deferred(steps, plans, **options):
    gpu = Gpu()
    link = Link(gpu)
    front = FrontEnd(1, plans, link.send, **options)
    play(steps, front.call)
    front.flush()
    return gpu.log, link.groups


def loop_steps(plan, count, first, start):
    """Return the steps of one run of a loop; ``first`` gives each argument's values."""
    steps = []
    for iteration in range(count):
        for number, call in enumerate(plan.calls):
            values = []
            for place, argument in enumerate(call.arguments):
                a, b = first[number][place]
                before = argument.call >= number
                if argument.kind == "linear":
                    a = (a + iteration * argument.increment) & ((1 << 8 * argument.size) - 1)
                elif argument.kind == "alternate":
                    a = (a, b)[iteration % 2]
                elif argument.kind == "bytes":
                    a = bytes([a % 256, b % 256])
                elif argument.kind == "result" and (iteration or not before):
                    at = start + (iteration - before) * len(plan.calls) + argument.call
                    a = (at, argument.offset)
                values.append(a)
            steps.append(Step(call.site, call.name, tuple(values)))
    return steps


@st.composite
def plans(draw, site):
    count = draw(st.integers(1, 3))
    calls = []
    for number in range(count):
        arguments = []
        for _ in range(draw(st.integers(0, 3))):
            kind = draw(st.sampled_from(["constant", "linear", "alternate", "result", "bytes"]))
            size = 8 if kind == "result" else draw(st.sampled_from([1, 2, 4, 8]))
            arguments.append(
                ArgumentPlan(
                    kind,
                    size,
                    increment=draw(st.integers(-5, 5)),
                    call=draw(st.integers(0, count - 1)),
                    offset=draw(st.integers(-3, 300)),
                )
            )
        calls.append(CallPlan(site + number, draw(st.sampled_from("abcdef")), tuple(arguments)))
    known = draw(st.one_of(st.none(), st.integers(1, 6)))
    return LoopPlan(3, tuple(calls), count=known)


@st.composite
def programs(draw):
    """Return plans and a program: runs of their loops, broken off or changed, and other calls."""
    known = [draw(plans(100 * (1 + number))) for number in range(draw(st.integers(1, 3)))]
    steps = []
    for _ in range(draw(st.integers(0, 6))):
        if draw(st.integers(0, 4)) == 0:
            steps.append(Step(1, draw(st.sampled_from("abc")), (draw(st.integers(0, 9)),)))
            continue
        plan = draw(st.sampled_from(known))
        first = [
            [
                (draw(st.integers(0, (1 << 8 * argument.size - 1) - 1)), draw(st.integers(0, 99)))
                for argument in call.arguments
            ]
            for call in plan.calls
        ]
        count = draw(st.integers(1, 7))
        run = loop_steps(plan, count, first, len(steps))
        run = run[: draw(st.integers(1, len(run)))] if draw(st.booleans()) else run
        if draw(st.booleans()):
            at = draw(st.integers(0, len(run) - 1))
            if run[at].values and isinstance(run[at].values[-1], int):
                changed = (*run[at].values[:-1], draw(st.integers(0, 2**40)))
                run[at] = dataclasses.replace(run[at], values=changed)
        steps += run
    return known, steps


@settings(max_examples=400)
@given(programs(), st.sampled_from([1, 2, 3, 7, 65_536]))
@pytest.mark.thorough
def test_the_same_calls_run_in_the_same_order(program, max_group):
    known, steps = program
    log, _ = deferred(steps, known, max_group=max_group)
    assert log == directly(steps)


COPY = LoopPlan(
    2,
    (
        CallPlan(10, "a", (ArgumentPlan("linear", increment=16), ArgumentPlan("constant", 4))),
        CallPlan(11, "b", (ArgumentPlan("alternate"), ArgumentPlan("bytes"))),
    ),
)


def copy_steps(count, start=0, first=0):
    values = [[(first, 0), (7, 0)], [(1, 2), (3, 4)]]
    return loop_steps(COPY, count, values, start)


def test_a_loop_is_one_message():
    log, groups = deferred(copy_steps(1000), [COPY])
    assert len(log) == 2000
    assert [(group.count, len(group.calls), group.loop_class) for group in groups] == [(1000, 2, 2)]


def test_a_known_trip_count_ends_the_group_and_two_entries_are_two_groups():
    plan = dataclasses.replace(COPY, count=5)
    _, groups = deferred(copy_steps(5) + copy_steps(5), [plan])
    assert [group.count for group in groups] == [5, 5]


def test_an_argument_that_breaks_the_recurrence_begins_a_new_group():
    log, groups = deferred(copy_steps(5) + copy_steps(4, first=1000), [COPY])
    assert [group.count for group in groups] == [5, 4]
    assert log == directly(copy_steps(5) + copy_steps(4, first=1000))


def test_entries_that_go_on_share_a_group():
    _, groups = deferred(copy_steps(4) + copy_steps(4, first=64), [COPY])
    assert [group.count for group in groups] == [8]


def test_a_group_ends_at_its_most_calls():
    _, groups = deferred(copy_steps(10), [COPY], max_group=8)
    assert [group.count for group in groups] == [4, 4, 2]


def test_a_loop_broken_off_sends_whole_iterations_and_the_rest():
    steps = copy_steps(3)[:5]
    log, groups = deferred(steps, [COPY])
    assert [(group.count, len(group.calls)) for group in groups] == [(2, 2), (1, 1)]
    assert log == directly(steps)


# --- errors -----------------------------------------------------------------------------------


def test_an_error_stops_the_group_and_is_raised_at_its_end():
    gpu = Gpu(fails_at=7)
    link = Link(gpu)
    front = FrontEnd(1, [COPY], link.send)
    play(copy_steps(6), front.call)
    with pytest.raises(DeferredError) as raised:
        front.flush()
    assert (raised.value.code, raised.value.iteration, raised.value.call) == (13, 3, 1)
    assert len(gpu.log) == 7


def test_an_unknown_function_refuses_the_whole_group():
    gpu = Gpu()
    link = Link(gpu)
    plan = LoopPlan(1, (CallPlan(1, "a", ()), CallPlan(2, "missing", ())))
    front = FrontEnd(1, [plan], link.send)
    front.call(1, "a")
    front.call(2, "missing")
    with pytest.raises(DeferredError) as raised:
        front.flush()
    assert (raised.value.code, raised.value.call) == (UNKNOWN_FUNCTION, 1)
    assert gpu.log == []


def group(application, sequence, value, name="a"):
    return encode(Group(application, sequence, 1, 0, 1, 3, (Call(name, (Constant(value),)),)))


def test_rubbish_of_one_application_leaves_the_others_groups_alone():
    back_end = BackEnd()
    gpus = {application: Gpu() for application in (1, 2)}
    for application, gpu in gpus.items():
        back_end.open(application, gpu.functions())
    back_end.receive(1, group(1, 0, 5))
    damaged = bytearray(group(2, 0, 6))
    damaged[-9] ^= 1
    for rubbish in (b"", bytes(damaged), group(1, 1, 6), group(2, 3, 6)):
        with pytest.raises(MessageError):
            back_end.receive(2, rubbish)
    assert back_end.run_next(2) is None
    answer = decode(back_end.run_next(1))
    assert (answer.code, gpus[1].log) == (0, [("a", 5)] * 3)
    # After the rubbish, the right message still comes through.
    back_end.receive(2, group(2, 0, 6))
    assert decode(back_end.run_next(2)).code == 0
    assert gpus[2].log == [("a", 6)] * 3


def test_an_answer_is_no_group():
    back_end = BackEnd()
    back_end.open(1, Gpu().functions())
    back_end.receive(1, group(1, 0, 1))
    answer = back_end.run_next(1)
    with pytest.raises(MessageError, match="kind is an answer"):
        back_end.receive(1, answer)
