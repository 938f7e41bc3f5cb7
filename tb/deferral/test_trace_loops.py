"""A folded trace's LOOPs and launches: what they launch, and the accesses that they take."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom_golden.deferral.loop_expansion import expand
from warploom_golden.deferral.trace_loops import TraceLaunch, fold_trace, one_by_one
from warploom_sim.methods.defer.folded_launches import trace_launches
from warploom_sim.traces import trace_reader
from warploom_sim.traces.kept_waits import keep_waits
from warploom_spec import preset
from warploom_spec.host_commands import launch_words

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "deferral" / "loop_commands.md"
CONFIG = preset("default")
LAYOUT = launch_words(CONFIG)
#: T0 to T10, and two words for each of four inline arguments.
LAUNCH_WORDS = 11 + 8


def made(code, gx=1, **fields):
    values = dict.fromkeys(LAYOUT.by_name, 0)
    values |= {"opcode": 2, "code": code, "gx": gx, "quiet": 1, **fields}
    return TraceLaunch((code, gx, *sorted(fields.items())), values)


def counted(launches, slots=8):
    return fold_trace(launches, slots, CONFIG).transactions


def test_a_launch_takes_the_words_that_differ_its_doorbell_and_two_reads():
    assert counted([made(0)]) == LAUNCH_WORDS + 3
    # Another grid: one word. Another kernel: its code, and the low half of its argument.
    assert counted([made(0), made(0, gx=2)]) == LAUNCH_WORDS + 3 + 1 + 3
    assert counted([made(0), made(1)]) == LAUNCH_WORDS + 3 + 2 + 3
    # A pair's word is written only if the pair counts.
    assert counted([made(0, flags=0x11, wait0_count=5)]) == LAUNCH_WORDS + 1 + 3
    assert counted([made(0, wait0_count=5)]) == LAUNCH_WORDS + 3


def test_a_loop_takes_its_templates_words_and_six():
    # T11 and the two words of its argument's step beside those of a LAUNCH.
    first = LAUNCH_WORDS + 3
    a, b = made(0), made(1)
    assert counted([a] * 10) == first + 6
    assert counted([a, b] * 10) == 2 * first + 6
    # The templates stand in their slots: of the second loop only LOOP's words are written.
    assert counted([*[a, b] * 10, made(5), *[a, b] * 10]) == 2 * first + 12 + LAUNCH_WORDS + 3


def test_a_loop_finds_the_slots_in_which_most_words_stand():
    a, b, c = (made(k) for k in (0, 1, 3))
    folded = fold_trace([*[a, b, c] * 10, made(5), *[b, c] * 10], 8, CONFIG)
    assert [run.first_slot for run in folded.sent] == [0, None, 1]
    assert [run.written for run in folded.sent] == [66, 0, 0]
    assert (folded.loops, folded.templates) == (2, 5)


def test_a_run_that_is_cheaper_one_by_one_is_no_loop():
    folded = fold_trace([made(0)] * 2, 8, CONFIG)
    assert [run.first_slot for run in folded.sent] == [None]
    # The second launch's argument is a step further.
    assert folded.transactions == LAUNCH_WORDS + 3 + 1 + 3


def test_arguments_step_or_alternate_by_kernel():
    folded = fold_trace([made(0), made(2)] * 4, 8, CONFIG)
    seen = [LAYOUT.unpack(words)["inline0"] for words in folded.launches]
    base, other = 0x7F00_0000_0000, 0x7F00_0200_0000
    assert seen[::2] == [base, base + 4096, base + 2 * 4096, base + 3 * 4096]
    assert seen[1::2] == [other, other + 4096] * 2


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 9), st.integers(1, 5))
def test_slots_hold_what_each_loop_launches(seed, slots, kinds):
    """The runs, played on slots as a core has them, with every access counted again."""
    generator = random.Random(seed)
    kinds = [made(k, gx=generator.randint(1, 3), flags=0x11 * (k % 2)) for k in range(kinds)]
    launches = []
    for _ in range(generator.randint(1, 5)):
        body = [generator.choice(kinds) for _ in range(generator.randint(1, 4))]
        launches += body * generator.randint(1, 12)
    folded = fold_trace(launches, slots, CONFIG)
    accesses, launched = play(folded, slots)
    assert launched == list(folded.launches)
    assert accesses == folded.transactions
    wanted = [{**launch.fields, "inline0": 0} for launch in launches]
    assert [{**LAYOUT.unpack(words), "inline0": 0} for words in launched] == wanted
    single = fold_trace(launches, 0, CONFIG)
    assert one_by_one(single, CONFIG) == single.transactions


def play(folded, slots):
    """Return the accesses of a folded trace, and what its commands launch."""
    memory = [[None] * 64 for _ in range(slots)]
    section = [None] * 32
    accesses, launched = 0, []
    always = [*range(11), *range(12, 20)]
    for sent in folded.sent:
        run, body = sent.run, sent.templates
        assert len(body) == run.body
        if sent.first_slot is None:
            words = expand(body, (4, run.count, (run.body - 1) << 8))
            for one in words:
                pair = [28] if one[0] >> 8 & 1 else []
                accesses += written(section, one, [*always, *pair]) + 3
                launched.append(tuple(section[:11]) + one[11:12] + tuple(section[12:20]) + one[20:])
            continue
        for k, template in enumerate(body):
            pair = [28] if template[0] >> 8 & 1 else []
            slot = memory[(sent.first_slot + k) % slots]
            accesses += written(slot, template, [*always, *pair, 11, 32 + 12, 32 + 13])
        accesses += 6
        last = (sent.first_slot + run.body - 1) % slots
        filled = [[0 if word is None else word for word in slot] for slot in memory]
        launched += expand(filled, (4, run.count, sent.first_slot | last << 8))
    # Words that no LAUNCH reads are not compared.
    return accesses, launched


def written(kept, words, places):
    new = [place for place in places if kept[place] != words[place]]
    for place in new:
        kept[place] = words[place]
    return len(new)


# --- recordings ----------------------------------------------------------------------------------


def recording(name):
    return trace_reader.load(ROOT / "traces" / f"{name}.json.gz")


#: Most accesses with 64 templates: the aim for these recordings.
MOST = {"gpt2_generate": 2500, "llama_generate": 4000, "resnet50_infer": 2300}


def page_rows():
    """Return the rows of the page's first table by the recording's name, numbers alone."""
    rows = {}
    for line in PAGE.read_text().splitlines():
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if name in MOST:
            rows.setdefault(name, [float(cell.replace(",", "")) for cell in cells])
    return rows


@pytest.mark.parametrize("name", MOST)
def test_the_recordings_take_as_many_accesses_as_the_page_says(name):
    launches = trace_launches(recording(name), CONFIG)
    folded = fold_trace(launches, 64, CONFIG)
    single, taken = one_by_one(folded, CONFIG), folded.transactions
    each = round(taken / len(launches), 2)
    row = [len(launches), single, folded.loops, folded.templates, taken, each]
    assert page_rows()[name] == row
    assert taken < MOST[name] < single
    fields = ("code", "gx", "dx", "arguments", "index_address", "warp_registers", "shared")
    for words, launch in zip(folded.launches, launches, strict=True):
        seen = LAYOUT.unpack(words)
        assert all(seen[name] == launch.fields[name] for name in fields)


@pytest.mark.parametrize("name", ["googlenet_branches", "overlapped_training"])
def test_event_waits_are_relative_pairs(name):
    trace = recording(name)
    launches = trace_launches(trace, CONFIG)
    fields = [launch.fields for launch in launches]
    streams = [one["stream"] for one in fields]
    kept = keep_waits(trace.waits, [_On(stream) for stream in streams], CONFIG.launch_waits)
    accepted, pairs = Counter(), 0
    for number, one in enumerate(fields):
        found = []
        for k in range(CONFIG.launch_waits):
            assert one["flags"] >> k & 1 == one["flags"] >> 4 + k & 1
            if one["flags"] >> k & 1:
                stream = one[f"wait{k}_stream"]
                found.append((stream, accepted[stream] - one[f"wait{k}_count"]))
        assert tuple(found) == kept.pairs[number]
        pairs += len(found)
        accepted[one["stream"]] += 1
    assert pairs == sum(map(len, kept.pairs)) > 10


def test_a_launch_that_waits_for_more_streams_than_it_has_pairs_equals_no_other():
    trace, config = recording("overlapped_training"), replace(CONFIG, launch_waits=0)
    keys = Counter(launch.key for launch in trace_launches(trace, config))
    waiting = {number for number, _ in trace.waits.pairs}
    held = [launch.key for n, launch in enumerate(trace_launches(trace, config)) if n in waiting]
    assert len(held) > 10 and all(keys[key] == 1 for key in held)
    assert max(keys.values()) > 10


class _On:
    """A launch on a stream."""

    def __init__(self, stream):
        self.stream = stream


def test_a_key_has_a_code_for_each_kernel_and_an_address_for_each_shape():
    trace = recording("gpt2_generate")
    launches = trace_launches(trace, CONFIG)
    codes, addresses, lengths = {}, {}, {}
    for recorded, launch in zip(trace.launches, launches, strict=True):
        fields = launch.fields
        assert codes.setdefault(recorded.name, fields["code"]) == fields["code"]
        address = addresses.setdefault(recorded.block, fields["index_address"])
        assert address == fields["index_address"]
        assert lengths.setdefault(launch.key, fields["arguments"]) == fields["arguments"]
    assert sorted(codes.values()) == list(range(len(codes)))
