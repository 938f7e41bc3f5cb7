"""`to_commands`: a LOOP launches what the group's own loop would, or a reason says why not."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb.deferral.expanded import Heap, launched
from tb.deferral.random_groups import RandomGroup, called
from warploom_golden.deferral import back_end
from warploom_golden.deferral.calls import (
    Alternate,
    Bytes,
    Call,
    Constant,
    FromResult,
    Group,
    Linear,
)
from warploom_golden.deferral.commands import Commands, to_commands
from warploom_golden.deferral.kernel_store import CoreStream, Kernel, KernelStore
from warploom_golden.deferral.loop_expansion import expand
from warploom_golden.deferral.message import MessageError, encode
from warploom_golden.deferral.refusal import Reason, Refusal
from warploom_spec import preset

CONFIG = preset("default")


def compare(seed, launches, count, streams):
    """Compare one random group's LOOP with its own loop; return how many pairs it has."""
    made = RandomGroup(seed, launches, count, streams)
    wanted = called(made.group, made.store)
    found = to_commands(made.group, made.store, CONFIG, Heap())
    if not isinstance(found, Commands):
        assert found == Refusal(Reason.NOT_A_LAUNCH)
        assert max(len(one.awaited) for one in wanted) > CONFIG.launch_waits
        return 0
    got = list(launched(found, made.store, CONFIG))
    assert len(got) == len(wanted) == launches * count
    sent, pairs = {}, 0
    for one, other in zip(got, wanted, strict=True):
        assert one.call(made.store) == (other.kernel, other.values)
        assert one.fields["quiet"] == 1
        awaited = {s: sent.get(s, 0) - 1 - back for s, back in one.pairs()}
        if other.iteration == 0:
            # What the iteration before would have recorded is a launch before the group here.
            awaited = {s: n for s, n in awaited.items() if s in other.awaited or n >= 0}
        assert awaited == other.awaited
        pairs += len(awaited)
        sent[other.stream] = sent.get(other.stream, 0) + 1
    return pairs


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 64), st.integers(1, 50), st.integers(1, 4))
def test_a_loop_launches_what_the_groups_own_loop_would(seed, launches, count, streams):
    compare(seed, launches, min(count, 1 + 300 // launches), streams)


def test_random_groups_hold_pairs(seed):
    assert sum(compare(seed + k, 12, 5, 3) for k in range(20)) > 100


@pytest.mark.thorough
@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 64), st.integers(1, 50), st.integers(1, 4))
def test_a_loop_launches_what_the_groups_own_loop_would_at_full_length(
    seed, launches, count, streams
):
    compare(seed, launches, count, streams)


# --- by hand --------------------------------------------------------------------------------------

STORE = KernelStore(
    kernels={
        "add": Kernel(code=0x1_0000_2000, parameters=(8, 4), registers=32, shared_bytes=1024),
        "many": Kernel(code=0x3000, parameters=(1, 8, 2, 4, 1)),
        "box": Kernel(code=0x4000, parameters=(24,)),
    },
    streams={0: CoreStream(3, 1), 0x51: CoreStream(5), 0x52: CoreStream(6), 0x53: CoreStream(7)},
    index_addresses={(128, 1, 1): 64},
    address_space=9,
)
POINTER, NUMBER = Linear(0x7F00_FFFF_FFF0, 16), Alternate(2, 3, 4)


def launch(*parameters, name="add", grid=(4, 2, 1), block=(128, 1, 1), shared=0, stream=0):
    rules = [Constant(dim, 4) if isinstance(dim, int) else dim for dim in (*grid, *block)]
    wide = [Constant(rule) if isinstance(rule, int) else rule for rule in (shared, stream)]
    return Call(name, (*rules, *wide, *(parameters or (POINTER, NUMBER))))


def commands(*calls, count=3, config=CONFIG, memory=None):
    group = Group(1, 0, 3, 0, 1, count, calls)
    return to_commands(group, STORE, config, memory or Heap())


def record(event, stream):
    return Call("cudaEventRecord", (Constant(event), Constant(stream)))


def wait(stream, event):
    return Call("cudaStreamWaitEvent", (Constant(stream), Constant(event), Constant(0, 4)))


def test_the_words_of_a_template_and_of_its_loop():
    found = commands(launch(grid=(Linear(7, -2, 4), Linear(2, 1, 4), Linear(9, -3, 4))), count=4)
    (words,) = found.templates
    first = [2, 0x2000, 1, 0, 0, 9 | 3 << 16 | 1 << 24 | 1 << 28, 7, 2 | 9 << 16]
    first += [128 | 1 << 11 | 1 << 22, 64, 4 | (1024 + 1024) // 128 << 10 | 1 << 24]
    # Grid x, grid y and z, inline words 0 and 1 change, and inline word 1 alternates.
    first += [0b11011 | 1 << 16 + 4, 0xFFFF_FFF0, 0x7F00, 2, 0]
    second = {6: 2**32 - 2, 7: 1 | (2**16 - 3) << 16, 12: 16, 13: 0, 14: 3, 15: 0}
    assert words == (*first, *[0] * 16, *(second.get(k, 0) for k in range(32)))
    assert found.loop == (4, 4, 0 | 0 << 8 | 4 << 16, *[0] * 29)
    assert found.blocks == ()
    seen = [(w[6], w[7], w[12] | w[13] << 32, w[14]) for w in expand(found.templates, found.loop)]
    assert seen == [
        (7, 2 | 9 << 16, 0x7F00_FFFF_FFF0, 2),
        (5, 3 | 6 << 16, 0x7F01_0000_0000, 3),
        (3, 4 | 3 << 16, 0x7F01_0000_0010, 2),
        (1, 5 | 0 << 16, 0x7F01_0000_0020, 3),
    ]


def test_too_many_parameters_stand_in_memory_a_block_an_iteration():
    rules = (Linear(254, 1, 1), POINTER, Constant(-1, 2), Alternate(1, 2, 4), Constant(7, 1))
    found = commands(launch(*rules, name="many"), launch(), count=2)
    (block,) = found.blocks
    size = 32  # 1 byte, 8 at 8, 2 at 16, 4 at 20, 1 at 24.
    assert len(block.data) == 2 * size
    assert block.data[:25].hex() == "fe" + 7 * "00" + "f0ffffff007f0000" + "ffff00000100000007"
    assert block.data[size : size + 16].hex() == "ff" + 7 * "00" + "00000000017f0000"
    words = found.templates[0]
    assert (words[3] | words[4] << 32, words[11], words[35]) == (block.address, 1 << 2, size)
    assert block.address % 8 == 0 and found.templates[1][3:5] == (0, 0)


def test_parameters_that_stay_have_one_block_for_all_iterations():
    (block,) = commands(launch(*[Constant(1)] * 5, name="many"), count=1000).blocks
    assert len(block.data) == 32


def test_without_room_in_memory_the_group_is_refused():
    many = launch(POINTER, *[Constant(1)] * 4, name="many")
    assert commands(many, memory=Heap(size=95)) == Refusal(Reason.RANGE)
    assert isinstance(commands(many, memory=Heap(size=96)), Commands)
    assert commands(many, memory=Heap(start=2**64 - 95)) == Refusal(Reason.RANGE)


def test_events_become_relative_pairs():
    """Two streams: each launch waits for the other stream's launch before it."""
    found = commands(
        launch(stream=0), record(1, 0), launch(stream=0), wait(0x51, 1), launch(stream=0x51),
        record(2, 0x51), wait(0, 2),
    )  # fmt: skip
    first, second, third = found.templates
    # The wait behind the last launch is the next iteration's first launch's.
    assert (first[0], first[28]) == (2 | 1 << 8 | 1 << 12, 5 << 8)
    assert (second[0], second[28]) == (2, 0)
    assert (third[0], third[28]) == (2 | 1 << 8 | 1 << 12, 3 << 8 | 1 << 16)
    assert found.loop[2] >> 16 == 4


@pytest.mark.parametrize(
    ("calls", "reason", "call"),
    [
        ([launch(), Call("cudaMemcpy", (Constant(0),))], Reason.NOT_A_LAUNCH, 1),
        ([], Reason.NOT_A_LAUNCH, 0),
        ([record(1, 0)], Reason.NOT_A_LAUNCH, 0),
        ([launch(Constant(0))], Reason.NOT_A_LAUNCH, 0),
        ([wait(0x51, 1), launch(), record(1, 0)], Reason.NOT_A_LAUNCH, 0),
        ([launch()] * 65, Reason.TEMPLATES, 0),
        ([launch(), launch(FromResult(0), NUMBER)], Reason.RESULT, 1),
        ([launch(), launch(stream=FromResult(0))], Reason.RESULT, 1),
        ([launch(Bytes(b"12345678"), NUMBER)], Reason.BYTES, 0),
        ([launch(Bytes(bytes(24)), name="box")], Reason.BYTES, 0),
        ([launch(Constant(5), name="box")], Reason.BYTES, 0),
        ([launch(block=(Linear(8, 1, 4), 1, 1))], Reason.FIXED_FIELD, 0),
        ([launch(block=(8, 1, Alternate(1, 2, 4)))], Reason.FIXED_FIELD, 0),
        ([launch(shared=Linear(0, 16))], Reason.FIXED_FIELD, 0),
        ([launch(stream=Alternate(0, 0x51))], Reason.FIXED_FIELD, 0),
        ([launch(grid=(1, Linear(1, 1, 4), Alternate(1, 2, 4)))], Reason.FIXED_FIELD, 0),
        ([launch(), Call("cudaEventRecord", (Linear(1, 1), Constant(0)))], Reason.FIXED_FIELD, 1),
        ([launch(grid=(2**31, 1, 1))], Reason.RANGE, 0),
        ([launch(grid=(1, 1, Linear(2**16 - 2, 1, 4)))], Reason.RANGE, 0),
        ([launch(grid=(Linear(1, -1, 4), 1, 1))], Reason.RANGE, 0),
        ([launch(grid=(1, Alternate(1, 2**16, 4), 1))], Reason.RANGE, 0),
        ([launch(block=(2048, 1, 1))], Reason.RANGE, 0),
        ([launch(shared=2**40)], Reason.RANGE, 0),
        ([launch(stream=0x77)], Reason.RANGE, 0),
        ([launch(Linear(2**32 - 2, 1, 4), NUMBER)], Reason.RANGE, 0),
        ([launch(Linear(1, -1, 4), NUMBER)], Reason.RANGE, 0),
    ],
)
def test_what_cannot_be_a_loop_has_its_reason(calls, reason, call):
    assert commands(*calls) == Refusal(reason, call)


@pytest.mark.parametrize(
    "call",
    [
        launch(Linear(2**32 - 3, 1, 4), NUMBER),
        launch(Linear(2, -1, 4), NUMBER),
        launch(grid=(1, 1, Linear(2**16 - 3, 1, 4))),
        launch(grid=(Linear(2, 2**32 - 1, 4), 1, 1)),
        launch(block=(Linear(8, 2**32, 8), 1, 1)),
        launch(block=(Alternate(8, 2**32 + 8, 8), 1, 1)),
    ],
)
def test_values_at_the_edge_and_bits_that_mean_nothing_are_no_reason(call):
    assert isinstance(commands(call), Commands)


def test_more_awaited_streams_than_pairs_are_refused():
    three = [0x51, 0x52, 0x53]
    calls = [c for n, s in enumerate(three) for c in (launch(stream=s), record(n, s), wait(0, n))]
    assert commands(*calls, launch()) == Refusal(Reason.NOT_A_LAUNCH)
    assert isinstance(commands(*calls[:6], launch()), Commands)


def test_a_group_of_one_iteration_changes_nothing_and_waits_for_nothing_behind_it():
    moving = launch(block=(Linear(8, 1, 4), 1, 1), stream=0x51)
    calls = [moving, launch(), record(1, 0), wait(0x51, 1)]
    found = commands(*calls, count=1)
    assert (found.templates[0][11], found.templates[0][0], found.loop[1]) == (0, 2, 1)
    assert commands(launch(stream=0x51), *calls[1:], count=2).templates[0][0] == 2 | 0x11 << 8


def test_a_count_beyond_32_bits_is_refused():
    assert commands(launch(), count=2**32) == Refusal(Reason.RANGE)
    assert commands(launch(), count=2**32 - 1).loop[1] == 2**32 - 1
    assert list(expand(*(lambda c: (c.templates, c.loop))(commands(launch(), count=0)))) == []


def test_a_damaged_message_never_becomes_commands(monkeypatch, seed):
    asked = []

    def noted(group, *rest):
        asked.append(group)
        return to_commands(group, *rest)

    monkeypatch.setattr(back_end, "to_commands", noted)
    sent = Group(1, 0, 3, 0, 1, 3, (launch(), record(1, 0)))
    message = encode(sent)
    end = back_end.BackEnd()
    end.open(1, {})
    generator = random.Random(seed)
    for place in range(len(message)):
        damaged = bytearray(message)
        damaged[place] ^= 1 << generator.randrange(8)
        for bad in (bytes(damaged), message[:place]):
            with pytest.raises(MessageError):
                end.receive(1, bad)
            assert end.oldest_commands(1, STORE, CONFIG, Heap()) is None
    assert asked == []
    end.receive(1, message)
    assert end.oldest_commands(1, STORE, CONFIG, Heap()) == commands(launch(), record(1, 0))
    assert asked == [sent]


def test_the_oldest_group_comes_first_and_stays_until_it_is_run():
    end = back_end.BackEnd()
    end.open(1, {})
    for sequence, count in enumerate((3, 5)):
        end.receive(1, encode(Group(1, sequence, 3, 0, 1, count, (launch(),))))
    for count in (3, 5):
        for _ in range(2):
            found = end.oldest_commands(1, STORE, CONFIG, Heap())
            assert found == commands(launch(), count=count)
        end.run_next(1)
    assert end.oldest_commands(1, STORE, CONFIG, Heap()) is None
