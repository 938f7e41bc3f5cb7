"""The proofs: quick ones run, seeded bugs are found, and the page says what ran."""

import dataclasses
import functools
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tb.support.deep_values import deep_but
from warploom_dev.cli import main
from warploom_dev.formal import aiger, formal_report, outcomes, prover
from warploom_dev.formal.formal_bench import THE_CORE, FormalBench
from warploom_dev.pages import END
from warploom_sim.failure import ProgramError
from warploom_spec import preset

#: `test_proofs_tools.py` fails in one line where it is missing.
pytestmark = pytest.mark.skipif(find_spec("pyosys") is None, reason="pyosys is not installed")

ROOT = Path(__file__).parents[2]
#: Every bench, to read what it states.
MADE = {name: outcomes.stated(name) for name in outcomes.benches()}

#: Those with a check that takes seconds.
QUICK = [name for name in MADE if outcomes.chosen(name, quick=True)]
#: Of them, those whose quick proofs and bugs take long. `make formal` has them, too.
LARGE = (
    "mailbox_aborts",
    "launch_check",
    "config_filter",
    "mailbox",
    "execution_unit",
    "index_iterator",
    "block_to_warps",
    "resource_ranges",
    "bus_port",
    "loop_expander",
)
#: Those that take a few seconds; the others are thorough.
SMALL = ("index_packer",)


def counter(fault: str | None = None) -> FormalBench:
    """Count the cycles in which a free input is 1, from 0 to 5 and from the start again."""
    b = FormalBench("counter", preset("tiny"), "3 bits", fault)
    step, count = b.free(1, "step"), b.register(3, "count")
    with b.m.If(step):
        b.m.d.sync += count.eq(count + 1)
        if fault != "endless":
            with b.m.If(count == 5):
                b.m.d.sync += count.eq(0)
    b.assume("mostly", "steps until 4 is reached", step | (count == 4), source="nobody")
    b.check("low", "below 6", count < 6, fault="endless", cover=("5 is there", count == 5))
    b.check("never_5", "a lie", count != 5, fault="endless", cover=("6 is there", count == 6))
    b.check("soon", "a lie in time", count != 5, fault="none", cover=("", 0), bound=5)
    return b.close()


def ask(bench: FormalBench, check: str, folder: Path) -> prover.Answer:
    return prover.Prover(bench, folder, 60).violation(check, bench.checks[check].bound)


# --- the proofs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    deep_but(SMALL, QUICK, thorough={*QUICK} - {*SMALL, *LARGE}),
)
def test_the_quick_ones_are_proved_reached_and_their_bugs_found(name: str, tmp_path: Path) -> None:
    found = list(outcomes.outcomes(name, outcomes.KINDS, quick=True, folder=tmp_path))
    assert found
    assert not [(o.check.name, o.kind, o.text) for o in found if not o.good]


def test_what_is_taken_as_given_is_a_check_of_another_block() -> None:
    """Of the one that drives the input, if that is no builder's core."""
    checks = {f"{name}.{check}": name for name, bench in MADE.items() for check in bench.checks}
    given = [(name, a.source) for name, bench in MADE.items() for a in bench.assumptions.values()]
    assert given
    ours = [of for of in given if of[1] != THE_CORE]
    assert not [of for of in ours if checks.get(of[1], of[0]) == of[0]]
    assert {of[0] for of in given if of[1] == THE_CORE} == {"block_to_warps"}


# --- what is committed -------------------------------------------------------------------------


def test_the_figures_are_of_properties_that_hold_as_deep_as_they_claim() -> None:
    """Whether they are of the present benches, `make figures CHECK=1` finds out."""
    rows = formal_report.read(ROOT / formal_report.FILE)
    assert rows and len({(row["bench"], row["check"]) for row in rows}) == len(rows)
    for row in rows:
        assert all(row[f"{kind}_good"] is True for kind in outcomes.KINDS), row
        bound = re.fullmatch(r"bounded, (\d+) cycles", row["proof_answer"])
        assert bound or row["proof_answer"] == "proven", row
        # Case and seeded bug come within what is searched.
        reached = [int(row[f"{kind}_answer"].removeprefix("cycle ")) for kind in ("cover", "bug")]
        assert max(reached) <= (int(bound[1]) if bound else prover.SEARCHED), row


def test_the_page_has_the_committed_figures() -> None:
    page = (ROOT / formal_report.PAGE).read_text()
    rows = formal_report.read(ROOT / formal_report.FILE)
    assert rows and formal_report.page_text(page, rows) == page
    proofs = {f"{row['bench']}.{row['check']}": row["proof_answer"] for row in rows}
    shown = {row["bench"] for row in rows}
    for given in (a for name in shown for a in MADE[name].assumptions.values()):
        ours = given.source != THE_CORE
        proof = proofs.get(given.source, "-")
        source = f"`{given.source}` | {proof}" if ours else "the core keeps it | -"
        assert f"| {given.text} | {source} |" in page
    rows[0]["proof_seconds"] += 1
    assert formal_report.page_text(page, rows) != page


# --- the prover --------------------------------------------------------------------------------


def test_what_holds_is_proved_for_all_time(tmp_path: Path) -> None:
    answer = ask(counter(), "low", tmp_path)
    assert (answer.verdict, answer.run) == ("never", [])


def test_a_violation_is_found_with_a_run_that_shows_it(tmp_path: Path) -> None:
    """Six cycles at least, as nothing counts twice; the simulator sees the same."""
    answer = ask(counter(), "never_5", tmp_path)
    assert (answer.verdict, answer.cycles) == ("found", 6)
    seen = prover.replay(counter(), answer.run, tmp_path / "run.vcd")
    assert [violated >> 1 & 1 for violated, _ in seen] == [0, 0, 0, 0, 0, 1]
    assert (tmp_path / "run.vcd").stat().st_size


def test_a_bound_sees_so_far_and_no_further(tmp_path: Path) -> None:
    assert ask(counter(), "soon", tmp_path).verdict == "bounded"
    checks = counter().checks
    deeper = dataclasses.replace(checks["soon"], bound=6)
    assert prover.Prover(counter(), tmp_path, 60).violation("soon", deeper.bound).cycles == 6


def test_a_case_beyond_the_bound_is_not_reached(tmp_path: Path) -> None:
    """Within its bound the property says nothing of the case."""
    bench = counter()
    assert prover.Prover(bench, tmp_path, 60).cover("low").cycles == 6
    bench.checks["low"] = dataclasses.replace(bench.checks["low"], bound=5)
    assert prover.Prover(bench, tmp_path, 60).cover("low").verdict == "bounded"


def test_a_case_that_cannot_happen_is_not_reached(tmp_path: Path) -> None:
    asked = prover.Prover(counter(), tmp_path, 60)
    assert asked.cover("low").verdict == "found"
    assert asked.cover("never_5").verdict in ("never", "bounded")


def test_an_assumption_that_leaves_nothing_is_seen_by_the_cover(tmp_path: Path) -> None:
    bench = FormalBench("counter", preset("tiny"), "", None)
    free = bench.free(1, "step")
    bench.assume("nothing", "0 is 1", free & ~free, source="nobody")
    bench.check("all", "anything", free, fault="none", cover=("anything", free))
    asked = prover.Prover(bench.close(), tmp_path, 60)
    assert asked.violation("all", None).verdict == "never"
    assert asked.cover("all").verdict != "found"


def test_a_constant_is_any_value_and_always_the_same(tmp_path: Path) -> None:
    bench = FormalBench("constant", preset("tiny"), "", None)
    value = bench.constant(2, "value")
    before = bench.register(2, "seen", keeps=True)
    later = bench.register(1, "second", keeps=True)
    bench.m.d.sync += [before.eq(value), later.eq(1)]
    cover = ("3 after a reset", later & (value == 3))
    bench.check("same", "it stays", ~later | (value == before), fault="none", cover=cover)
    asked = prover.Prover(bench.close(), tmp_path, 60)
    assert asked.violation("same", None).verdict == "never"
    assert asked.cover("same").verdict == "found"


def test_a_run_that_the_simulator_does_not_show_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(outcomes, "benches", lambda: ("counter",))
    monkeypatch.setattr(outcomes, "make", lambda _, fault=None: counter(fault))
    monkeypatch.setattr(outcomes, "replay", lambda *_: [(0, 0)])
    monkeypatch.chdir(tmp_path)
    result = run("counter", "--cover")
    assert result.exit_code == 3
    waveform = "build/formal/counter/cover_low.vcd"
    assert result.stderr == f"Error: {waveform} does not show what the prover found: low reached\n"


def test_an_undriven_bit_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loosened = aiger._SCRIPT.replace("aigmap\n", "aigmap\ndelete t:$_DFF_P_\n")
    monkeypatch.setattr(aiger, "_SCRIPT", loosened)
    with pytest.raises(ProgramError, match=r"\d+ bits of counter are driven by nothing"):
        prover.Prover(counter(), tmp_path, 60)


# --- the command -------------------------------------------------------------------------------


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["formal", *arguments])


def test_an_unknown_block_is_refused_with_the_legal_ones() -> None:
    result = run("warp_drive")
    assert result.exit_code == 2
    assert result.stderr == f"Error: block is 'warp_drive'; legal: {', '.join(MADE)}\n"


def test_a_block_of_which_nothing_is_asked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "chosen", lambda name, quick: [])
    result = CliRunner().invoke(main, ["formal", "grid_walker", "--quick"])
    assert (result.exit_code, result.stderr) == (
        2,
        "Error: grid_walker has no check with --quick\n",
    )


def test_an_update_asks_everything() -> None:
    assert run("--update", "--quick").exit_code == 2


@pytest.mark.parametrize("damaged", ["{", "[{}]", "7"])
def test_damaged_outcomes_are_refused_before_anything_is_asked(
    damaged: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for file, text in (
        (formal_report.PAGE, (ROOT / formal_report.PAGE).read_text()),
        (formal_report.FILE, damaged),
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(outcomes, "outcomes", lambda *_, **__: pytest.fail("asked"))
    result = run("--update")
    assert result.exit_code == 2
    assert "docs/figures/formal.json is no list of outcomes" in result.stderr
    assert (tmp_path / formal_report.FILE).read_text() == damaged


def test_an_update_that_cannot_write_is_refused_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(outcomes, "outcomes", lambda *_, **__: pytest.fail("asked"))
    result = run("--update")
    assert result.exit_code == 2
    assert result.stderr == "Error: docs/tools/formal.md is not here: run it in the repository\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ends", [KeyboardInterrupt, OSError, None])
def test_an_update_keeps_each_good_row_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ends: type[BaseException] | None
) -> None:
    """However the run ends; the second check's proof fails, so that its row is not written."""
    monkeypatch.chdir(tmp_path)
    for module in (outcomes, formal_report):
        monkeypatch.setattr(module, "stated", lambda _: counter())
        monkeypatch.setattr(module, "benches", lambda: ("counter",))
    formal_report.FILE.parent.mkdir(parents=True)
    formal_report.PAGE.parent.mkdir(parents=True)
    formal_report.PAGE.write_text(f"Above\n\n{formal_report._BEGIN}\n{END}\n\nBelow\n")
    monkeypatch.setattr(outcomes, "outcomes", functools.partial(_some_outcomes, ends))
    result = run("--update")
    assert result.exit_code == {KeyboardInterrupt: 130, OSError: 3, None: 1}[ends]
    assert [row["check"] for row in formal_report.read()] == ["low"]
    assert (
        formal_report.page_text(formal_report.PAGE.read_text(), formal_report.read())
        == formal_report.PAGE.read_text()
    )
    assert "| below 6 | proven | 1.0 | `endless` | cycle 7 |" in formal_report.PAGE.read_text()
    assert [path.name for path in formal_report.PAGE.parent.iterdir()] == ["formal.md"]
    assert [path.name for path in formal_report.FILE.parent.iterdir()] == ["formal.json"]


def _some_outcomes(
    ends: type[BaseException] | None, name: str, kinds: Sequence[str], **_: object
) -> Iterator[outcomes.Outcome]:
    """Tell of two checks, a proof of the second one having failed; then end."""
    checks = counter().checks
    for check, proof in ((checks["low"], "never"), (checks["never_5"], "found")):
        for kind in kinds:
            answer = prover.Answer(proof if kind == "proof" else "found", 7, 1.0, [])
            yield outcomes.Outcome(name, "3 bits", "hash", check, kind, answer, None)
    if ends is not None:
        raise ends


def test_what_fails_is_named_and_the_exit_code_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(outcomes, "make", lambda _, fault=None: counter(fault))
    monkeypatch.setattr(outcomes, "stated", lambda _: counter())
    result = run("counter", "--json", "found.json")
    assert result.exit_code == 1
    waveform = "build/formal/counter/proof_never_5.vcd"
    assert f"failed: counter.never_5, proof: VIOLATED in cycle 6, see {waveform}" in result.stderr
    assert "failed: counter.low" not in result.stderr
    assert re.search(r"counter +[│|] 3 bits +[│|] low +[│|] proven", result.stdout)
    assert Path(waveform).exists() and Path("found.json").exists()
