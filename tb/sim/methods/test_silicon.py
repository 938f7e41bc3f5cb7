"""``warploom silicon``: the repository's recordings, figures read back, refusals."""

import gzip
import json
import random

import pytest
from click.testing import CliRunner

from warploom_sim.cli import main
from warploom_sim.commands.silicon import FOLDER
from warploom_sim.methods.silicon import recording
from warploom_spec import WarploomError
from warploom_spec.config import POLICIES

#: Blocks so short that the GPU's rate of launching limits: no policy says where they go.
LAUNCH_LIMITED = "short_1d_32persm"
NAMES = sorted(path.name.removesuffix(".csv.gz") for path in FOLDER.glob("*.csv.gz"))


def silicon(*arguments):
    return CliRunner().invoke(main, ["silicon", *map(str, arguments)])


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """What the command says of all recordings of the repository."""
    folder = tmp_path_factory.mktemp("silicon")
    done = silicon("--json", folder / "all.json", "--plot", folder / "starts.png")
    assert done.exit_code == 0, done.output
    assert (folder / "starts.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "Block lengths are the recording's own" in done.output
    return {run["recording"]: run for run in json.loads((folder / "all.json").read_text())}


def test_every_recording_has_its_figures(figures):
    assert sorted(figures) == NAMES and len(NAMES) == 9
    for run in figures.values():
        assert run["sms"] == 132
        own, *others, chance = run["rules"]
        assert (own, chance) == ("freed_first", "chance")
        assert sorted([own, *others]) == sorted(POLICIES)


@pytest.mark.parametrize("name", NAMES)
def test_every_makespan_is_within_one_percent(figures, name):
    error = abs(figures[name]["rules"]["freed_first"]["makespan_error"])
    assert error < (0.01 if name.startswith("short") else 0.0025)


@pytest.mark.parametrize("name", [name for name in NAMES if name != LAUNCH_LIMITED])
def test_blocks_go_where_a_slot_was_left_first(figures, name):
    rules = figures[name]["rules"]
    assert rules["freed_first"]["near"]["96"] > 0.998
    assert rules["freed_first"]["near"]["128"] > 0.9998
    assert rules["chance"]["near"]["96"] < 0.6


def test_a_given_turnaround_is_taken(tmp_path):
    file = tmp_path / "f.json"
    path = FOLDER / "uniform_1d_2persm.csv.gz"
    assert silicon(path, "--turnaround", 640, "--json", file).exit_code == 0
    (run,) = json.loads(file.read_text())
    assert (run["turnaround_ns"], run["turnaround"]) == (640, "given")
    assert -0.007 < run["rules"]["freed_first"]["makespan_error"] < -0.006


def lines(name="uniform_1d_1persm"):
    return gzip.decompress((FOLDER / f"{name}.csv.gz").read_bytes()).decode().splitlines()


def test_a_recording_whose_sms_are_mixed_up_is_seen(tmp_path):
    rows = [line.split(",") for line in lines("random_1d_1persm")]
    behind = rows[2 + 132 :]
    sms = [row[4] for row in behind]
    random.Random(1).shuffle(sms)
    for row, sm in zip(behind, sms, strict=True):
        row[4] = sm
    mixed, file = tmp_path / "mixed.csv", tmp_path / "f.json"
    mixed.write_text("\n".join(map(",".join, rows)))
    assert silicon(mixed, "--json", file).exit_code == 0
    (run,) = json.loads(file.read_text())
    assert run["rules"]["freed_first"]["near"]["96"] < 0.2


@pytest.mark.parametrize(
    ("number", "old", "new", "says"),
    [
        (0, "grid=1056", "grid=1055", "1055"),
        (0, "# grid", "grid", "line 1"),
        (0, "per_sm=1", "per_sm=0", "resident_blocks_per_sm is 0"),
        (1, ",sm,", ",smx,", "no column sm"),
        (2, "0,0,0,0,", "0,1,0,0,", "line 3: block 0 at 1,0,0; legal: block 0 at 0,0,0"),
        (7, ",0,0,", ",0,", "line 8: 11 fields; legal: 12"),
        (9, ",0,0,", ",0,x,", "line 10: bz is 'x'; legal: 0 to"),
    ],
)
def test_a_broken_recording_is_refused_in_one_line(tmp_path, number, old, new, says):
    text = lines()
    assert old in text[number]
    text[number] = text[number].replace(old, new, 1)
    path, file = tmp_path / "broken.csv", tmp_path / "f.json"
    path.write_text("\n".join(text))
    done = silicon(path, "--json", file)
    assert done.exit_code == 2
    assert done.output.startswith("Error: ") and done.output.count("\n") == 1
    assert says in done.output
    assert not file.exists()


def test_more_refusals(tmp_path):
    text = lines()
    path = tmp_path / "r.csv"
    for kept, says in (
        (text[:-1], "1055 rows; legal: 1056"),
        ([*text, text[-1]], "a row too many"),
    ):
        path.write_text("\n".join(kept))
        with pytest.raises(WarploomError, match=says):
            recording.load(path)
    row = text[2].split(",")
    row[9] = str(int(row[8]) - 1)
    path.write_text("\n".join([*text[:2], ",".join(row), *text[3:]]))
    with pytest.raises(WarploomError, match=r"end_ns is 63; legal: start_ns \(64\) or more"):
        recording.load(path)
    path.write_bytes(b"\x1f\x8bnonsense")
    with pytest.raises(WarploomError, match="no recording"):
        recording.load(path)
    path.write_bytes(b"")
    with pytest.raises(WarploomError, match="line 1"):
        recording.load(path)
    assert silicon(path, "--turnaround", "-1").exit_code == 2
    assert silicon(FOLDER / NAMES[0], "--plot", "plot.txt").exit_code == 2
