"""Progress: a bar on a terminal, lines elsewhere."""

import io
import re
import time

import pytest
from rich.console import Console

from warploom_sim import screen
from warploom_sim.screen import LineProgress, progress_bar, shortened, working


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines since the last call; standard output stays empty."""
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


def test_a_line_for_each_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    progress = LineProgress(clock)
    task = progress.add_task("blocks", total=2_000)
    for step in range(40):
        clock.now = step / 2
        progress.update(task, completed=50 * step)
        progress.say()
    lines = said(capsys)
    assert lines[:2] == [
        "blocks: 200 of 2,000, 10%, 2 s, about 18 s left",
        "blocks: 400 of 2,000, 20%, 4 s, about 16 s left",
    ]
    assert [line.split(", ")[1] for line in lines] == [f"{10 * n}%" for n in range(1, 10)]
    # The end says nothing: what the command prints follows.
    progress.update(task, completed=2_000)
    progress.say()
    assert said(capsys) == []


def test_a_line_after_half_a_minute_without_a_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    progress = LineProgress(clock)
    task = progress.add_task("runs", total=50)
    progress.add_task("building", total=None)
    for second in range(91):
        clock.now = float(second)
        progress.update(task, completed=int(second > 40))
        progress.say()
    assert said(capsys) == [
        "runs: 0 of 50, 0%, 30 s",
        "building: 30 s",
        "runs: 1 of 50, 2%, 60 s, about 2,940 s left",
        "building: 60 s",
        "runs: 1 of 50, 2%, 90 s, about 4,410 s left",
        "building: 90 s",
    ]


def test_a_line_shortens_the_name_alone(capsys: pytest.CaptureFixture[str]) -> None:
    progress = LineProgress(Clock())
    name = f"{'a_long_recording_' * 9}.json.gz: blocks"
    progress.advance(progress.add_task(name, total=451_229), 123_456)
    progress.say()
    (line,) = said(capsys)
    start, counter = line.rsplit(": ", 1)
    assert counter == "123,456 of 451,229, 27%, 0 s, about 0 s left"
    assert start == shortened(name, 72) and start.endswith(".gz: blocks") and len(start) == 72


def test_somebody_looks_while_work_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that never says how far it is shows, too; nothing comes after its end."""
    monkeypatch.setattr(screen, "LOOK_S", 0.01)
    monkeypatch.setattr(screen, "LINE_S", 0.02)
    with working("building, once"):
        time.sleep(0.3)
    lines = said(capsys)
    assert len(lines) >= 2 and all(re.fullmatch(r"building, once: \d s", line) for line in lines)
    time.sleep(0.05)
    assert said(capsys) == []


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar() as progress:
        progress.advance(progress.add_task("runs", total=10), 9)
    assert said(capsys) == []


def test_a_process_that_works_for_another_one_is_quiet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "_quiet", False)
    monkeypatch.setattr(screen, "LOOK_S", 0.01)
    screen.be_quiet()
    with progress_bar("8 runs to do") as progress:
        progress.advance(progress.add_task("runs", total=10), 9)
        time.sleep(0.1)
    assert said(capsys) == []


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_on_a_terminal_the_name_gives_way_to_the_counter(width: int) -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=width, color_system=None)
    bar = progress_bar(console=console)
    task = bar.add_task(f"{'recording_of_a_whole_night' * 4}.json.gz: blocks", total=451_229)
    bar.update(task, completed=123_456)
    console.print(bar.get_renderable())
    (line,) = shown.getvalue().splitlines()
    assert "123456/451229" in line and "0:00:00" in line and len(line.rstrip()) <= width
    assert line.startswith("re") and ("\N{HORIZONTAL ELLIPSIS}" in line) == (width < 200)


@pytest.mark.parametrize("most", [4, 9, 20, 63])
def test_a_shortened_text_keeps_its_ends(most: int) -> None:
    text = "".join(chr(0x100 + k) for k in range(64))
    short = shortened(text, most)
    head, tail = short.split("\N{HORIZONTAL ELLIPSIS}")
    assert len(short) == most and text.startswith(head) and text.endswith(tail) and tail
    assert shortened(text, 64) == text
