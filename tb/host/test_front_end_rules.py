"""FrontEnd's numbered rules, which are of its blocks together: cycles of RTL and model alike."""

from collections import defaultdict

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.front_end_script import (
    Host,
    command,
    play,
    read_of,
    read_section,
    write_to,
)
from warploom.host.front_end import FrontEnd
from warploom_golden.host import FrontEnd as Model
from warploom_spec import ErrorCode, layouts, timing
from warploom_spec.host_commands import Opcode, launch_words
from warploom_spec.host_map import section_address
from warploom_spec.queue import QueueCode

TINY = config_of("tiny,sections=3")
OFFER, REPORT = layouts.block_offer(TINY), layouts.block_report(TINY)
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


class Sms(Host):
    """A host, and SMs that report each block five cycles after they took it."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._reports = defaultdict(dict)

    def see(self, outputs):
        super().see(outputs)
        for sm in range(TINY.sms):
            if outputs[f"offer__{sm}__valid"]:
                slot = OFFER.unpack(outputs[f"offer__{sm}__payload"])["slot"]
                self._reports[self.cycle + 5][sm] = REPORT.pack({"slot": slot, "status": 0})

    def next(self, outputs):
        values = super().next(outputs)
        for sm, word in self._reports[self.cycle - 1].items():
            values |= {f"report__{sm}__valid": 1, f"report__{sm}__payload": word}
        return values


@pytest.mark.rule("front_end", 1, 4, 5)
@RTL_AND_MODEL
def test_a_launch_from_its_doorbell_to_its_record(kind):
    """The writes of SM_ENABLE commit in 62 and 63; both launches' records wait from 90 on."""
    check = timing(TINY).launch_check
    rung = 2 + len(launch()) - SENT
    accesses = [
        write_to(TINY, 0, "SM_ENABLE0", 0),
        *command(2, 0, launch()),
        *(read_section(rung + check + k + SENT, 0, "DOORBELL") for k in (2, 3, 4, 5)),
        *command(30, 1, launch(stream=1)),
        write_to(TINY, 60, "SM_ENABLE0", 0b01),
        write_to(TINY, 61, "SM_ENABLE0", 0b11),
        # The pop commits in 101.
        write_to(TINY, 101 + SENT, "RECORD_POP", 1),
        *(read_of(TINY, cycle + SENT, "RECORD0") for cycle in (101, 102, 103)),
    ]
    seen, found = play(kind, TINY, accesses, 110, host=Sms)
    assert found[:4] == [1, 1, 0, 0]
    # Decided in 64 and 67, offered two cycles later.
    assert (seen.cycles("offer__0__valid"), seen.cycles("offer__1__valid")) == ([66], [69])
    assert found[4:] == [1, 1, 2]


@pytest.mark.rule("front_end", 2)
@RTL_AND_MODEL
def test_an_abort_of_an_unknown_ticket_is_answered_after_all_entries_were_compared(kind):
    """`tiny` has 16 entries: the doorbell reads 0 from c + 16 + 8 on."""
    rung = 2 - SENT
    accesses = [
        *command(0, 2, abort(77)),
        *(read_section(rung + k + SENT, 2, "DOORBELL") for k in (22, 23, 24, 25)),
        read_section(40, 2, "ERROR"),
    ]
    assert play(kind, TINY, accesses, 50)[1] == [1, 1, 0, 0, QueueCode.TICKET_UNKNOWN]


@pytest.mark.rule("front_end", 2)
@RTL_AND_MODEL
def test_an_abort_of_a_launch_in_a_place_is_answered_within_eight_cycles(kind):
    """No SM reports; `kill` is 1 six cycles after the abort's transfer in c + 3."""
    rung = 62 - SENT
    accesses = [
        *command(0, 0, launch()),
        *command(60, 1, abort(1)),
        *(read_section(rung + k + SENT, 1, "DOORBELL") for k in (6, 7, 8, 9)),
        read_section(80, 1, "ERROR"),
    ]
    seen, found = play(kind, TINY, accesses, 90)
    assert found == [1, 1, 0, 0, 0]
    assert seen.cycles("kill")[0] == rung + 3 + 6


@pytest.mark.rule("front_end", 3)
@RTL_AND_MODEL
def test_a_launch_ends_while_every_other_record_s_place_is_taken(kind):
    """20 records have a place: of 21 launches, 3 every 60 cycles, the last one is refused."""
    last = 120 + 60 * 8
    accesses = [access for n in range(3) for access in command(0, n, launch(stream=n))[:-1]]
    for rung in range(120, last - 60, 60):
        accesses += [(rung, section_address(section, "DOORBELL"), 1) for section in range(3)]
    accesses += [read_of(TINY, last, name) for name in ("RECORDS", "ROOM")]
    accesses.append(read_section(last, 2, "ERROR"))
    for pop in range(last + 10, last + 10 + 20 * 3, 3):
        accesses += [read_of(TINY, pop, "RECORD0"), write_to(TINY, pop, "RECORD_POP", 1)]
    accesses.append(read_of(TINY, last + 80, "ROOM"))
    found = play(kind, TINY, accesses, last + 90, host=Sms)[1]
    assert found == [20, 0, ErrorCode.COMPLETION_FULL, *range(1, 21), 15]


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
    offered = layouts.block_offer(config).unpack(seen.transfers("offer__0")[0][1])
    words = layouts.launch_words(config).unpack(seen.port("words__0")[first])
    assert (offered["block_number"], offered["index_warps"]) == (0, len(rows))
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
