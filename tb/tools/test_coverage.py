"""What `make coverage` counts, leaves out and refuses; and its committed figures."""

import dataclasses
import re
import subprocess
from pathlib import Path

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from click.testing import CliRunner

from tb.benches.coverage_builds import BUILDS
from warploom_dev import cli
from warploom_dev.coverage import coverage_figures, coverage_report, measure, waivers
from warploom_dev.coverage.counted_builds import Build
from warploom_dev.coverage.counted_lines import blocks_below, with_counts_off
from warploom_dev.coverage.coverage_figures import Row, Share
from warploom_dev.coverage.points import Point, merged, read_points, source_of
from warploom_dev.coverage.waivers import Waiver
from warploom_sim.failure import ProgramError
from warploom_sim.verilog.blocks import BLOCKS
from warploom_spec import ErrorCode, WarploomError
from warploom_spec.host_errors import HostError

ROOT = Path(__file__).parents[2]
COMMITTED = coverage_figures.read(ROOT / coverage_figures.FILE)

VERILOG = r"""
module dut(a);
  wire [1:0] a;
  wire \$1 ;
  wire \a.low ;
  output o;
  wire o;
  wire \b$3 ;
  wire \b$4 ;
  wire c;
  always @* begin
    if (\$auto$verilog_backend.cc:2355:dump_module$1 ) begin end
    (* src = "/somewhere/hdl/warploom/toy.py:7" *)
    if (a[0]) begin
    end
  end
  \dut.part  part (
    .o(o),
    .b(\b$3 )
  );
  assign \b$4  = \b$3 ;
  \dut.party  party (
    .c(c)
  );
endmodule
module \dut.part (b);
  wire b;
endmodule
module \dut.part.inner (c);
  wire c;
endmodule
module \dut.party (d);
  wire d;
endmodule
"""
LINES = VERILOG.splitlines()


def line_of(text: str) -> int:
    """Return the number of the first line with a text."""
    return next(n for n, line in enumerate(LINES, start=1) if text in line)


def entry(
    page: str, comment: str, line: int, count: int, module: str = "dut", file: str = "dut.v"
) -> str:
    """Return a line as Verilator writes it."""
    fields = {
        "f": f"/somewhere/{file}",
        "l": str(line),
        "n": "5",
        "t": page,
        "page": f"v_{page}/{module}",
    }
    fields |= {"o": comment, "h": module}
    text = "".join(f"\x01{key}\x02{value}" for key, value in fields.items())
    return f"C '{text}' {count}"


def test_points_are_sides_of_branches_and_edges_of_bits() -> None:
    branch, wake = line_of("if (a[0])"), line_of("$auto$verilog")
    data = "\n".join(
        [
            "# SystemC::Coverage-3",
            entry("toggle", "a[1]:0->1", 3, 4),
            entry("toggle", "i___05Fvalid:1->0", 3, 0, "dut.part"),
            entry("line", "block", branch - 1, 9),
            entry("line", "case", branch, 0),
            entry("branch", "if", branch, 2),
            entry("branch", "else", wake, 2),
            entry("branch", "if", branch, 0, "std", "verilated_std.sv"),
        ]
    )
    points = read_points(data, LINES)
    assert points == {
        Point("toggle", "", "a[1]:0->1", 3): 4,
        Point("toggle", "part", "i__valid:1->0", 3): 0,
        Point("branch", "", f"case {branch}:5", branch): 0,
        Point("branch", "", f"if {branch}:5", branch): 2,
    }
    assert merged([points, points])[Point("toggle", "", "a[1]:0->1", 3)] == 8
    assert source_of(LINES, branch) == "hdl/warploom/toy.py:7"
    assert source_of(LINES, 3) == ""


def test_a_branch_is_told_without_the_place_of_the_machine() -> None:
    line = '  assign a = b ? (* src = "/home/me/hdl/warploom/toy.py:7" *) held : c;'
    told = measure.place(Point("branch", "queue", "cond_then 1:5", 1), [line])
    assert told == "queue.cond_then at hdl/warploom/toy.py:7: assign a = b ? held : c;"


def test_no_figure_names_a_place_of_the_machine() -> None:
    """Each measured file: paths in it are the repository's."""
    files = [ROOT / coverage_figures.FILE, *(ROOT / "docs" / "figures").rglob("*.json")]
    assert not [file.name for file in files if re.search(r'["\s]/\w+/', file.read_text())]


def test_unnamed_wires_fields_and_other_blocks_do_not_count() -> None:
    text = with_counts_off(VERILOG, ["dut.part"])
    off, counted = False, []
    for line in text.splitlines():
        off |= "coverage_off" in line
        if not off and ("wire" in line or "if" in line):
            counted.append(line.strip())
        off &= "coverage_on" not in line
    assert counted == [
        "wire [1:0] a;",
        "wire o;",
        "wire c;",
        r"if (\$auto$verilog_backend.cc:2355:dump_module$1 ) begin end",
        "if (a[0]) begin",
        "wire d;",
    ]
    assert len(text.splitlines()) == len(LINES)


class GridWalker(wiring.Component):
    """A toy that has a block's name."""

    i: In(1)
    o: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(self.i)
        return m


class Toy(wiring.Component):
    """A block that contains another, inside a part of its own."""

    i: In(1)

    def elaborate(self, platform):
        m, part = Module(), Module()
        part.submodules.walker = walker = GridWalker()
        m.submodules.part = part
        m.d.comb += walker.i.eq(self.i)
        return m


def test_a_block_inside_a_block_is_found() -> None:
    assert blocks_below(Toy()) == ["dut.part.walker"]


def row(**changes: object) -> Row:
    """Return a row that reaches its goal."""
    share = Share(reached=9, total=10, waived=0)
    good = Row(
        block="toy",
        builds={"tiny": "0"},
        seed=1,
        cycles=100,
        branch=share,
        toggle=share,
        lacking=["word (2 edges)"],
        cases={"a full queue": 1},
    )
    return dataclasses.replace(good, **changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"branch": Share(reached=89, total=100, waived=0)},
            "toy: its tests reach 89 of 100 points of kind branch (89.0%), not 90%;"
            " lacking: word (2 edges)",
        ),
        (
            {"toggle": Share(reached=94, total=94, waived=6)},
            "toy: waivers leave out 6 of 100 points of kind toggle, more than 5%",
        ),
        ({"cases": {"a full queue": 0}}, "toy: these cases never happened: a full queue"),
        ({"cycles": 0}, "toy: its tests ran 0 cycles; legal: at least 1"),
        (
            {"branch": Share(reached=0, total=0, waived=0)},
            "toy: it has 0 points of kind branch that count; legal: at least 1 (WITHOUT_POINTS in"
            " waivers.py)",
        ),
        (
            {"block": "index_generator"},
            "index_generator: it has 10 points of kind branch that count; legal: 0 (WITHOUT_POINTS"
            " in waivers.py)",
        ),
    ],
)
def test_a_block_that_falls_short_is_named_with_what_it_lacks(
    changes: dict[str, object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures say it, and the command ends with exit code 1."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measure, "run_tests", lambda blocks, seed, jobs: None)
    monkeypatch.setattr(measure, "row_of", lambda name, seed: row(**changes))
    monkeypatch.setattr("warploom_dev.coverage.counted_builds.builds", lambda: {"toy": ()})
    assert coverage_figures.shortfalls(row()) == []
    assert coverage_figures.shortfalls(row(**changes)) == [said]
    result = CliRunner().invoke(cli.main, ["coverage", "toy"])
    assert (result.exit_code, result.stderr.strip()) == (1, said)
    monkeypatch.setattr(measure, "row_of", lambda name, seed: row())
    assert CliRunner().invoke(cli.main, ["coverage", "toy"]).exit_code == 0


def test_a_block_whose_bench_is_empty_has_no_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tests pass, since each was skipped or ran no cycle."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Build, "component", lambda build: Toy())
    builds = {"toy": (Build("m:make", {"config": "tiny"}),)}
    monkeypatch.setattr("warploom_dev.coverage.counted_builds.builds", lambda: builds)
    monkeypatch.setattr(measure, "builds", lambda: builds)
    monkeypatch.setattr(measure, "run_tests", lambda blocks, seed, jobs: None)
    result = CliRunner().invoke(cli.main, ["coverage", "toy"])
    assert result.exit_code == 3
    assert "toy: no test ran a cycle of its build tiny" in result.stderr


@pytest.mark.parametrize(
    ("code", "said"), [(0, None), (1, "a test failed"), (5, "pytest did not run")]
)
def test_tests_that_fail_or_that_are_none_end_the_count(
    code: int, said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pytest's exit code 5 is: no test was selected."""
    (tmp_path / "tb" / "part").mkdir(parents=True)
    (tmp_path / "tb" / "part" / "test_toy_wrong_rules.py").touch()
    monkeypatch.chdir(tmp_path)
    ran: list[list[str]] = []

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(WarploomError, match=r"toy has no tests: tb/\*/test_toy\*.py names no file"):
        measure.run_tests(["toy"], 1, 1)
    assert not ran
    (tmp_path / "tb" / "part" / "test_toy.py").touch()
    if said is None:
        measure.run_tests(["toy"], 1, 1)
    else:
        with pytest.raises(ProgramError, match=said):
            measure.run_tests(["toy"], 1, 1)
    assert ran[0][-1] == "tb/part/test_toy.py"


def test_a_waiver_leaves_out_its_own_points_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    high = Waiver("toy", "toggle", r"count\[(1[0-5])\]:.*", "too wide to toggle")
    monkeypatch.setattr(waivers, "WAIVERS", (high,))
    points = [Point("toggle", "", f"count[{bit}]:0->1", 1) for bit in (9, 10, 15, 16)]
    other = Point("branch", "", "count[10]:0->1", 1)
    assert list(waivers.waived("toy", [*points, other])) == points[1:3]
    assert waivers.waived("other", points) == {}


def test_a_case_is_waived_for_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    none = Waiver("toy", "case", "error (?!full).*", "the toy gives no other error")
    monkeypatch.setattr(waivers, "WAIVERS", (none,))
    assert waivers.waived_case("toy", "error empty")
    assert not waivers.waived_case("toy", "error full")
    assert not waivers.waived_case("other", "error empty")


def test_a_configuration_is_the_same_however_it_is_written() -> None:
    build = Build("m:make", {"config": "tiny,policy=round_robin,sms=3"})
    same = {"config": "tiny,sms=3,policy=round_robin"}
    assert build.is_of("m:make", same)
    assert not build.is_of("m:other", same)
    assert not build.is_of("m:make", {**same, "memory": True})
    assert not build.is_of("m:make", {"config": "tiny,sms=4"})
    assert Build("m:make", {"config": "mine"}).is_of("m:make", {"config": "mine"})


def test_an_unknown_block_is_refused_with_the_legal_ones() -> None:
    result = CliRunner().invoke(cli.main, ["coverage", "mailbx"])
    assert result.exit_code == 2
    assert "block is 'mailbx'; legal: launch_check, " in " ".join(result.stderr.split())


def test_every_block_has_a_build_and_no_other_has_figures() -> None:
    assert COMMITTED.keys() <= BUILDS.keys() == BLOCKS.keys()


def test_the_page_names_the_blocks_without_figures() -> None:
    page = " ".join((ROOT / coverage_report.PAGE).read_text().split())
    sentence = re.search(r"These blocks have no row[^:]*: ([^.]*)\.", page)
    named = re.findall(r"`(\w+)`", sentence[1]) if sentence else []
    assert named == sorted(BUILDS.keys() - COMMITTED.keys())


@pytest.mark.parametrize("block", BUILDS)
def test_every_block_has_tests_and_a_build_that_counts(block: str) -> None:
    assert BUILDS[block]
    assert measure.test_files(block)


@pytest.mark.parametrize("block", COMMITTED)
def test_the_committed_figures_reach_the_goal(block: str) -> None:
    assert coverage_figures.shortfalls(COMMITTED[block]) == []


def test_the_page_has_the_committed_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    written = coverage_report.page_with(COMMITTED.values())
    assert coverage_report.PAGE.read_text() == written, "run: make figures"


#: Codes that no counted configuration, or no observer, shows; rule tests give each of them.
IN_RULE_TESTS = {ErrorCode.INDEX_BITS, ErrorCode.ORDER_RANGE, ErrorCode.RELEASE_UNREFERENCED}


def test_every_error_code_happened_in_some_block_s_counted_runs() -> None:
    texts = [name for row in COMMITTED.values() for name, count in row.cases.items() if count]
    found = {text.rpartition(" ")[2].lower() for text in texts}
    wanted = {code.name.lower() for code in (*ErrorCode, *HostError)}
    lacking, unseen = wanted - found, {code.name.lower() for code in IN_RULE_TESTS}
    # A block that has no figures of its present hardware may show some more.
    current = {block for block, row in COMMITTED.items() if not row.stale}
    assert lacking >= unseen if BUILDS.keys() - current else lacking == unseen
