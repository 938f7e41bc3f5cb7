"""What streams change, as docs/replay/replay.md prints it, is what the traces' replays take."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from warploom_sim import replay

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "replay" / "replay.md").read_text()
SECTION = PAGE.split("## What streams change\n")[1].split("\n## ")[0]
#: The table of `default`, and the one of `large`: cells by trace.
DEFAULT, LARGE = (
    {cells[0].strip("`"): cells[1:] for cells in table}
    for table in (
        [[cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines()[2:]]
        for text in re.findall(r"(?:^\|.*\n)+", SECTION, re.MULTILINE)
    )
)
STREAMS = [trace for trace, cells in DEFAULT.items() if cells[0] != "1"]


def in_one_stream(trace: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the trace that the page's program makes of a trace."""
    (code,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    named = re.sub(r"traces/\w+\.json\.gz", str(trace), code)
    assert named != code
    monkeypatch.chdir(folder)
    exec(compile(named, "replay.md", "exec"), {})
    return folder / "one_stream.json"


def quick(trace: Path, **given: object) -> str:
    """Return the cycles of a replay as `make sim` makes it."""
    return f"{replay(trace, 'default', time_scale=Fraction(1, 32), **given).cycles:,}"


@pytest.mark.thorough
@pytest.mark.parametrize("trace", STREAMS)
def test_the_cycles_of_a_trace_of_several_streams(
    trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ROOT / "traces" / f"{trace}.json.gz"
    kept, ignored = quick(path), quick(path, events="ignore")
    streams, one, own, free = DEFAULT[trace]
    assert quick(in_one_stream(path, tmp_path, monkeypatch)) == one
    if given := re.search(r"`PRIORITY=(\d=\d)` ([\d,]+)$", own):
        assert quick(path, priorities=(given[1],)) == given[2]
        own = own.split(";")[0]
    assert (own, free or own) == (kept, ignored)
    assert int(streams) > 1


@pytest.mark.deep
@pytest.mark.parametrize("trace", sorted({*DEFAULT} - {*STREAMS}))
def test_the_cycles_of_a_trace_of_one_stream(trace: str) -> None:
    assert DEFAULT[trace] == ["1", quick(ROOT / "traces" / f"{trace}.json.gz"), "", ""]


@pytest.mark.deep
@pytest.mark.parametrize("trace", STREAMS)
def test_the_cycles_on_132_sms(trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = ROOT / "traces" / f"{trace}.json.gz"
    one = in_one_stream(own, tmp_path, monkeypatch)
    found = [
        f"{replay(path, 'large', contention=contention).cycles:,}"
        for contention in ("none", "sharing")
        for path in (one, own)
    ]
    assert LARGE[trace] == found
