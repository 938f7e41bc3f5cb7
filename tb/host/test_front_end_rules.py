"""FrontEnd's numbered rules, which are of its blocks together: cycles of RTL and model alike."""

import pytest

from tb.host import test_front_end_streams as streams
from tb.support.dispatch_configs import config_of
from tb.support.front_end_script import (
    command,
    play,
    read_of,
    read_section,
    write_to,
)
from warploom.host.front_end import FrontEnd
from warploom_golden.host import FrontEnd as Model
from warploom_spec import ErrorCode, layouts, resident_packets, timing
from warploom_spec.host_commands import Opcode, launch_words
from warploom_spec.host_map import section_address
from warploom_spec.queue import QueueCode

TINY = config_of("tiny,sections=3")
RTL_AND_MODEL = pytest.mark.parametrize("kind", [FrontEnd, Model], ids=["rtl", "model"])
# To elaborate the core takes seconds: in one process of a run.
pytestmark = pytest.mark.xdist_group("front_end")
#: A read or a write that is sent in t is sampled, or commits, in t + 2.
SENT = -2


def launch(**changes):
    """Return the words of a launch of one block that needs all barriers of an SM."""
    fields = {"opcode": Opcode.LAUNCH, "gx": 1, "gy": 1, "gz": 1, "dx": 1, "dy": 1, "dz": 1}
    named = {field.name: 0 for field in launch_words(TINY).fields}
    words = launch_words(TINY).pack(named | fields | {"barriers": 4} | changes)
    return words[: 1 + max(number for number, word in enumerate(words) if word)]


def abort(ticket):
    return [Opcode.ABORT, ticket]


class Sms(streams.Sms):
    """SMs that report each block five cycles after they took it."""

    work = 5


@pytest.mark.rule("front_end", 1, 4, 5)
@RTL_AND_MODEL
def test_a_launch_from_its_doorbell_to_its_record(kind):
    """Sent two cycles after its doorbell's commit: it reads 0 two cycles behind the answer.

    The writes of SM_ENABLE commit in 122 and 123. Both launches' records wait from 180 on.
    """
    rung = 42 + len(launch()) - SENT
    answered = 2 + timing(TINY).launch_check + 1 + timing(TINY).queue_answer
    accesses = [
        write_to(TINY, 0, "SM_ENABLE0", 0),
        *command(42, 0, launch()),
        *(read_section(rung + answered + k + SENT, 0, "DOORBELL") for k in (0, 1, 2, 3)),
        *command(80, 1, launch(stream=1)),
        write_to(TINY, 120, "SM_ENABLE0", 0b01),
        write_to(TINY, 121, "SM_ENABLE0", 0b11),
        # The pop commits in 191. The next record's words come one a cycle.
        write_to(TINY, 191 + SENT, "RECORD_POP", 1),
        *(read_of(TINY, cycle + SENT, "RECORD0") for cycle in (191, 193, 196)),
    ]
    seen, found = play(kind, TINY, accesses, 210, host=Sms)
    assert found[:4] == [1, 1, 0, 0]
    assert [sm for _, sm, _ in streams.offers(seen)] == [0, 1]
    assert min(cycle for cycle, *_ in streams.offers(seen)) > 122
    assert found[4:] == [1, 0, 2]


@pytest.mark.rule("front_end", 2)
@RTL_AND_MODEL
def test_an_abort_of_an_unknown_ticket_is_answered_after_all_entries_were_searched(kind):
    """`tiny` has 16 entries, three cycles each: the doorbell reads 0 from c + 3 x 16 + 7 on."""
    rung = 2 - SENT
    accesses = [
        *command(0, 2, abort(77)),
        *(read_section(rung + k + SENT, 2, "DOORBELL") for k in (53, 54, 55, 56)),
        read_section(80, 2, "ERROR"),
    ]
    assert play(kind, TINY, accesses, 90)[1] == [1, 1, 0, 0, QueueCode.TICKET_UNKNOWN]


@pytest.mark.rule("front_end", 2)
@RTL_AND_MODEL
def test_an_abort_of_a_resident_launch_kills_it(kind):
    """It has entry 0. The doorbell reads 0 from c + 13 on; `kill` rises in c + 20."""
    rung = 62 - SENT
    accesses = [
        *command(0, 0, launch()),
        *command(60, 1, abort(1)),
        *(read_section(rung + k + SENT, 1, "DOORBELL") for k in (11, 12, 13, 14)),
        read_section(90, 1, "ERROR"),
    ]
    seen, found = play(kind, TINY, accesses, 100)
    assert found == [1, 1, 0, 0, 0]
    assert seen.cycles("kill")[0] == rung + 20


@pytest.mark.rule("front_end", 1)
@RTL_AND_MODEL
def test_doorbells_in_a_row_get_no_false_queue_full(kind):
    """Three sections ring in a row. Their priority has four entries, so the fifth launch is full.

    Nothing is reported. All five are of one priority; the last two are rung in a row, too.
    """
    config = TINY
    words = [access for n in range(3) for access in command(0, n, launch(stream=n))[:-1]]
    bells = [(100, section_address(section, "DOORBELL"), 1) for section in range(3)]
    bells += [(140, section_address(section, "DOORBELL"), 1) for section in range(2)]
    accesses = [*words, *bells]
    accesses += [read_section(130, section, "ERROR") for section in range(3)]
    accesses += [read_section(180, section, "ERROR") for section in range(2)]
    assert config.queue_depth == 4
    found = play(kind, config, accesses, 200)[1]
    assert found == [0, 0, 0, 0, ErrorCode.QUEUE_FULL]


@pytest.mark.rule("front_end", 6, 7)
@RTL_AND_MODEL
def test_room_and_places_are_three_things_beside_the_pace(kind):
    """In the boot a launch waits, without a refusal: `tiny` takes launches from about 30 on."""
    accesses = [
        *command(0, 0, launch())[:-1],
        (12, section_address(0, "DOORBELL"), 1),
        read_section(20, 0, "DOORBELL"),
        read_of(TINY, 20, "ROOM"),
        read_section(60, 0, "ERROR"),
        read_section(61, 0, "RESULT0"),
    ]
    found = play(kind, TINY, accesses, 80)[1]
    assert found == [1, found[1], 0, 1]


@pytest.mark.rule("front_end", 3)
@RTL_AND_MODEL
def test_a_launch_ends_while_every_other_record_s_place_is_taken(kind):
    """20 records have a place, 19 for launches: of 21, 3 every 80 cycles, two are refused."""
    last = 120 + 80 * 8
    accesses = [access for n in range(3) for access in command(0, n, launch(stream=n))[:-1]]
    for rung in range(120, last - 80, 80):
        accesses += [(rung, section_address(section, "DOORBELL"), 1) for section in range(3)]
    accesses += [read_of(TINY, last, name) for name in ("RECORDS", "ROOM")]
    accesses.append(read_section(last, 2, "ERROR"))
    for pop in range(last + 10, last + 10 + 19 * 8, 8):
        accesses += [read_of(TINY, pop, "RECORD0"), write_to(TINY, pop, "RECORD_POP", 1)]
    accesses.append(read_of(TINY, last + 180, "ROOM"))
    found = play(kind, TINY, accesses, last + 190, host=Sms)[1]
    assert found == [19, 0, ErrorCode.COMPLETION_FULL, *range(1, 20), 15]


# To elaborate a core of another warp size takes five seconds.
@pytest.mark.thorough
@RTL_AND_MODEL
@pytest.mark.parametrize(
    ("lanes", "rows"),
    [
        (4, [([0, 1, 2, 4], 0b1111), ([5, 6, 0, 0], 0b0011)]),
        (2, [([0, 1], 0b11), ([2, 4], 0b11), ([5, 6], 0b11), ([8, 9], 0b11), ([10, 0], 0b01)]),
    ],
)
def test_warps_of_four_and_two_lanes_from_the_doorbell_to_their_indices(kind, lanes, rows):
    """A block of 3 columns has packed indices x + 4 y; it has 6 threads, or 9."""
    config = config_of(f"tiny,warp_size={lanes}")
    shape = {"dx": 3, "dy": 2 if lanes == 4 else 3}
    read = layouts.index_read(config)
    asked = [
        read.pack({"address": 0, "warp": warp, "index_warps": len(rows)})
        for warp in range(len(rows))
    ]
    first = 40
    levels = {
        "read__0__valid": lambda cycle: int(first <= cycle < first + len(rows)),
        "read__0__payload": lambda cycle: asked[(cycle - first) % len(rows)],
    }
    seen, _ = play(kind, config, command(0, 0, launch(**shape)), 60, **levels)
    offered = next(cycle for cycle, offer in enumerate(seen.port("offer")) if offer)
    block = resident_packets.resident_block(config).unpack(seen.port("block")[offered])
    words = layouts.launch_words(config).unpack(seen.port("words")[offered])
    assert (block["block_number"], block["warps"]) == (0, len(rows))
    assert (words["warps"], words["last_mask"]) == (len(rows), rows[-1][1])
    assert (words["barriers"], words["width_x"], words["width_y"]) == (4, 2, shape["dy"] - 1)
    given = layouts.index_data(config)
    data = [given.unpack(seen.port("data")[cycle]) for cycle in seen.cycles("data_valid")]
    bits = config.word_bits
    found = [
        ([row["words"] >> bits * k & (1 << bits) - 1 for k in range(lanes)], row["mask"])
        for row in data
    ]
    assert found == rows
