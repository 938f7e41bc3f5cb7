"""Registers and memories may begin with anything: after a reset no output shows it.

The core runs twice side by side, once begun with zeros and once with random values, and all outputs
are the same in every cycle. LaunchPath with them: it is a part of the core, and its ``idle``,
answers and records are looked at, too.
"""

import re

import pytest

from tb.host.any_start import any_start, program
from tb.host.core_bench import bench
from tb.host.test_flips import ended, flipped
from tb.support.deep_values import deep_but
from tb.support.dispatch_configs import config_of
from tb.support.planted import Change, plant
from warploom.launch.free_entries import FreeEntries

# One worker, so that the core is built once.
pytestmark = pytest.mark.xdist_group("any_start")
TINY = config_of("tiny,core_timeout=40,kill_timeout=40")
STARTS = 20
deep = pytest.mark.deep


@pytest.fixture(scope="module")
def tiny():
    return program(TINY)


def starts(tiny, seed, unreset=None, **more):
    built, (reset, *_) = tiny
    # Of two parts of one name in a block the second one's name goes on with a number.
    plain = [re.sub(r"\$\d+", "", name) for name in reset]
    assert unreset is None or plain.count(unreset) == 1
    number = len(reset) if unreset is None else plain.index(unreset)
    arguments = {"starts": STARTS, "commands": 20, "unreset": number, **more}
    return bench(built, "any_start", seed=seed, **arguments)


@pytest.mark.thorough
def test_twenty_starts_of_any_values_are_the_same_after_one_reset(tiny, seed):
    found = starts(tiny, seed)
    # Before, after its commands, and after a soft reset each start reads every register, and all
    # that a section shows.
    assert found["looks"] == 3 * STARTS
    assert found["launches finished"] > STARTS and found["tasks run"] > STARTS
    assert found["preemptions"] > 0 and found["idle cycles"] > 0


#: Registers that are ports of their blocks, and the output that shows each: at once, or read by the
#: host. `room` and the answers are wrong in the first cycle after the reset alone. No read is
#: sampled in that cycle, and an answer with code 0 changes no word of a section. So the launch
#: path's own ports show them.
SHOWN = {
    "registers.soft_reset_active": "read__0__ready",
    "registers.irq": "irq",
    "registers.epoch": "axil__r__payload",
    "registers.enable": "axil__r__payload",
    "mailbox.doorbell": "(cores__0__arguments|axil__r__payload)",
    "mailbox.verdict.disconnected": "axil__r__payload",
    "launch_path.queue.events.answer": "path_answer",
    "launch_path.queue.free_entries.room": "path_room",
    "launch_path.queue.walk.answer": "path_command_answer",
    "launch_path.queue.ticket_search.answer": "path_abort_answer",
    "launch_path.queue.record_writer.record": "path_(record|idle)",
    "unit_0.cores__start__valid": "cores__0__start__valid",
    "unit_0.cores__cancel": "cores__0__cancel",
    "unit_0.strays": "axil__r__payload",
}
#: One of each block: the others run with `make test-deep`.
SOON = [
    "registers.enable",
    "mailbox.verdict.disconnected",
    "launch_path.queue.free_entries.room",
    "unit_0.strays",
]
#: The first start that shows a register, where it is not start 1.
FIRST = {
    "registers.irq": 6,
    "mailbox.doorbell": 210,
    "mailbox.verdict.disconnected": 4,
    "launch_path.queue.events.answer": 23,
    "launch_path.queue.walk.answer": 2,
    "launch_path.queue.ticket_search.answer": 50,
    "unit_0.cores__start__valid": 4,
    "unit_0.cores__cancel": 7,
}


@pytest.mark.parametrize("register", deep_but([], SHOWN, thorough=SOON))
def test_a_register_that_the_reset_leaves_out_is_found(tiny, register):
    with pytest.raises(AssertionError, match=f"{SHOWN[register]} shows what was there before"):
        first = FIRST.get(register, 1)
        starts(tiny, seed=first, unreset=rf"\dut.core.{register}", starts=20 * STARTS)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "register", ["unit_0.missing", "unit_0.done_valid", "launch_path.queue.ticket_search.waits"]
)
def test_no_output_shows_that_the_reset_leaves_a_register_out(tiny, register):
    """Wrong in cycle 0 alone, or not at all: a reset's second cycle makes it of what is reset.

    Its takers are reset at the end of that cycle, or look later.
    """
    starts(tiny, seed=1, unreset=rf"\dut.core.{register}", starts=2)


@pytest.mark.thorough
def test_a_core_works_after_each_flip_of_a_bit(tiny):
    built, (*_, bits) = tiny
    found, _ = flipped(built, bits, 20, seed=1)
    assert found["flips"] == ended(found) == 20


@deep
def test_an_idle_that_forgets_launches_is_found(monkeypatch):
    forgets = Change(FreeEntries, "_counts", "Cat(full).all()", "1")
    plant(monkeypatch, [forgets])
    with pytest.raises(AssertionError, match="the launch path is idle, and a ticket has no record"):
        starts(program(TINY), seed=1)


# The Verilog

MODULE = """\
module \\dut.two (clk, rst, i, o);
  reg \\$auto$verilog_backend.cc:1:dump_module$1  = 0;
  reg [7:0] \\a$1  = 8'h00;
  reg b = 1'h1;
  reg late = 1'h0;
  reg later = 1'h0;
  reg [2:0] rows [1:0];
  initial begin
    rows[0] = 3'h0;
    rows[1] = 3'h0;
  end
  always @(posedge clk)
    \\a$1  <= \\$2 ;
  always @(posedge clk)
    b <= \\$3 ;
  always @(posedge clk)
    late <= b;
  always @(posedge clk)
    later <= b;
  always @* begin
    \\$2  = i;
    if (rst) begin
      \\$2  = 8'h00;
    end
  end
endmodule"""


def test_every_initial_value_of_the_verilog_is_taken_away():
    made = any_start(MODULE)
    assert made.reset == ("\\dut.two.\\a$1",)
    # `late` and `later` take one signal.
    assert made.unreset == ("\\dut.two.b", "\\dut.two.late", "\\dut.two.later")
    assert [name for name, _ in made.bits] == [*made.reset, *made.unreset]
    assert "  reg [7:0] \\a$1 ;\n  reg b ;\n" in made.text
    assert "    rows[1] = bench_any ? {$urandom} : 3'h0;\n" in made.text
    assert "    b = bench_any ? {$urandom} : 1'h1;\n" in made.text
    assert "if (rst && bench_unreset != 0) begin" in made.text


def test_an_initial_value_that_is_not_understood_is_refused():
    with pytest.raises(AssertionError, match="initial values are left"):
        any_start(MODULE.replace("reg b = 1'h1", "reg b = 1'h0 + 1'h1"))
    with pytest.raises(AssertionError, match="initial values are left"):
        any_start(MODULE.replace("rows[1] = 3'h0", "rows[1] = 3'h0 + 3'h1"))


def test_a_reset_that_two_registers_take_is_refused():
    with pytest.raises(AssertionError, match="a reset is of no register, or of two"):
        any_start(MODULE.replace("late <= b", "late <= \\$2 "))
