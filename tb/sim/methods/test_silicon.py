"""``warploom silicon``: the repository's recordings, figures read back, refusals."""

import gzip
import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from warploom_golden.replay.recorded_grid import Turnaround
from warploom_golden.replay.recorded_h200 import Constants
from warploom_sim.cli import main
from warploom_sim.commands.silicon import FOLDER
from warploom_sim.methods.silicon import recording
from warploom_sim.methods.silicon.comparison import Fitted
from warploom_sim.methods.silicon.recorder import RECORDER, START_GAP, constants, dated
from warploom_sim.methods.silicon.verdict import MANY_EARLY
from warploom_spec import WarploomError
from warploom_spec.config import POLICIES

# One worker, so that the recordings are judged once.
pytestmark = pytest.mark.xdist_group("silicon")
ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "replay" / "silicon.md"
#: Name of each recording, and its folder: `silicon` holds those of the clean program.
FOLDERS = {
    path.name.removesuffix(".csv.gz"): path.parent.name for path in sorted(FOLDER.rglob("*.csv.gz"))
}
CLEAN = [name for name, folder in FOLDERS.items() if folder == "silicon"]


def silicon(*arguments):
    return CliRunner().invoke(main, ["silicon", *map(str, arguments)])


def path_of(name):
    (path,) = FOLDER.rglob(f"{name}.csv.gz")
    return path


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """What the command says of all recordings of the repository."""
    folder = tmp_path_factory.mktemp("silicon")
    done = silicon("--json", folder / "all.json", "--plot", folder / "starts.png")
    assert done.exit_code == 0, done.output
    assert (folder / "starts.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "Block lengths are the recording's own" in done.output
    return {run["recording"]: run for run in json.loads((folder / "all.json").read_text())}


@pytest.mark.thorough
def test_every_recording_has_its_figures(figures):
    assert sorted(figures) == sorted(FOLDERS) and len(CLEAN) == 6
    for run in figures.values():
        assert run["sms"] == 132
        first, second, *policies, chance = run["rules"]
        assert (first, second, chance) == ("h200_rounds", "gpc_rounds", "chance")
        assert sorted(policies) == sorted(POLICIES)


@pytest.mark.thorough
def test_the_turnaround_is_fitted_on_the_others_of_the_folder_alone(figures):
    for name, run in figures.items():
        assert run["turnaround"] == "others"
        others = {other for other, folder in FOLDERS.items() if folder == FOLDERS[name]}
        assert set(run["fitted_on"]) == others - {name}


@pytest.mark.thorough
def test_the_rounds_of_an_h200_on_a_recording(tmp_path):
    """Its constants come from other recordings; the score of one decision has an upper bound."""
    file = tmp_path / "f.json"
    done = silicon(path_of("h200_uniform_1d_1persm"), "--json", file)
    assert done.exit_code == 0
    (run,) = json.loads(file.read_text())
    rule = run["rules"]["h200_rounds"]
    assert run["best"] == "h200_rounds" and run["decisions"] > 1000
    assert rule["same_sm"] > 0.8 > 0.7 > run["rules"]["gpc_rounds"]["same_sm"]
    assert all(other["same_sm"] <= run["possible"] < 1 for other in run["rules"].values())
    assert rule["same_sm_free"] > run["rules"]["chance"]["same_sm_free"] + 0.05
    assert abs(rule["makespan_error"]) < 0.001
    assert rule["near"]["96"] > 0.999


def test_constants_never_come_from_the_recording_itself():
    grid = replace(recording.load(path_of("h200_uniform_1d_1persm")), slots=3)
    for name in (*RECORDER, *START_GAP, "mine"):
        found = constants(name, grid, Fitted(Turnaround(999, {}), "itself", [name]))
        assert name not in found.fitted_on and found.fitted_on
        assert found.recorder in RECORDER.values()


def test_a_recording_without_others_is_dated_by_the_table():
    grid = recording.load(path_of("h200_uniform_1d_1persm"))
    itself = Fitted(Turnaround(999, {}), "itself", ["mine"])
    found = dated(grid, itself, Constants(-28.8, 0.0, ("another",)))
    assert (found.source, found.recordings) == ("table", ("another",))
    # SM 0: 9.19 ns less than its 172.83 ns down, and the recorder's constant.
    assert found.turnaround.by_sm[0] == pytest.approx(-9.19 + 172.83 - 28.8)
    assert dated(grid, itself, "another GPU") is itself
    others = Fitted(Turnaround(154, {}), "others", ["a"])
    assert dated(grid, others, Constants(-28.8, 0.0, ("another",))) is others


def test_an_older_program_is_known_by_its_other_recordings_alone():
    grid = recording.load(path_of("clean_random_1d_3persm"))
    assert grid.gpu == ""
    others = constants("mine", grid, Fitted(Turnaround(182, {}), "others", ["a", "b"]))
    assert others.fitted_on[:2] == ("a", "b") and -10 < others.recorder < 40
    alone = constants("mine", grid, Fitted(Turnaround(182, {}), "itself", ["mine"]))
    assert "older one" in alone


@pytest.mark.parametrize("broken", ["SMs swapped between GPCs", "an SM less", "no clocks"])
def test_another_gpu_gets_a_dash_and_one_line(tmp_path, broken):
    rows = [line.split(",") for line in lines("h200_uniform_1d_1persm")]
    swap = {"0": "2", "2": "0"} if "swapped" in broken else {}
    swap |= {"131": "130"} if "less" in broken else {}
    for row in rows[2:]:
        row[4] = swap.get(row[4], row[4])
    if broken == "no clocks":
        rows = [rows[0], *(row[:-2] for row in rows[1:])]
    mixed, file = tmp_path / "mixed.csv", tmp_path / "f.json"
    mixed.write_text("\n".join(map(",".join, rows)))
    done = silicon(mixed, "--turnaround", 154, "--json", file)
    assert done.exit_code == 0
    (run,) = json.loads(file.read_text())
    rule = run["rules"]["h200_rounds"]
    assert run["best"] == "gpc_rounds" and rule["not_applied"]
    assert rule["same_sm"] is rule["makespan_error"] is rule["near"]["96"] is None
    (line,) = [line for line in run["verdicts"] if line.startswith("h200_rounds: -, since ")]
    row = next(text for text in done.output.splitlines() if "h200_rounds  |" in text)
    assert row.count(" - ") == 6
    assert line.split("since ")[1].rstrip(".") == rule["not_applied"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", CLEAN)
def test_where_blocks_go_on_a_clean_recording(figures, name):
    rules = figures[name]["rules"]
    assert all(rule["near"]["96"] > 0.999 for rule in rules.values())


@pytest.mark.thorough
@pytest.mark.parametrize("name", CLEAN)
def test_the_makespan_of_a_clean_recording(figures, name):
    """Rounds were chosen on one recording of short blocks; the others judge them."""
    rules = figures[name]["rules"]
    assert abs(rules["gpc_rounds"]["makespan_error"]) < 0.001
    limit = 0.01 if "short" in name else 0.001
    assert all(abs(rules[policy]["makespan_error"]) < limit for policy in POLICIES)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in CLEAN if "random" in name])
def test_the_rounds_of_an_h200_on_random_lengths(figures, name):
    run = figures[name]
    rule = run["rules"]["h200_rounds"]
    assert rule["same_sm"] > (0.78 if run["slots"] == 1 else 0.65)
    assert all(
        other["same_sm"] < rule["same_sm"] - 0.1
        for rival, other in run["rules"].items()
        if rival != "h200_rounds"
    )
    assert abs(rule["makespan_error"]) < 0.002


@pytest.mark.thorough
def test_no_rule_is_right_more_often_than_is_possible(figures):
    judged = [run for run in figures.values() if run["decisions"]]
    assert len(judged) > 10
    for run in judged:
        shares = [rule["same_sm"] or 0.0 for rule in run["rules"].values()]
        assert 0 < max(shares) <= run["possible"]


@pytest.mark.thorough
def test_rounds_explain_short_blocks_better_than_every_policy(figures):
    for name in (name for name in CLEAN if "short" in name):
        rules = figures[name]["rules"]
        best = abs(rules["gpc_rounds"]["makespan_error"])
        assert all(abs(rules[policy]["makespan_error"]) > 5 * best for policy in POLICIES)


@pytest.mark.thorough
def test_the_pages_table_is_what_the_command_says(figures):
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    shown = {name: row.split(" | ") for name, row in rows if name in FOLDERS}
    assert shown.keys() == FOLDERS.keys()
    for name, row in shown.items():
        assert row == table_row(figures[name]), name


def table_row(run):
    """Return the row of the page's table for one recording."""
    rules = run["rules"]
    h200, rounds, *policies, chance = rules.values()
    groups = ([h200], [rounds], policies, [chance])
    near = [span([rule["near"]["96"] for rule in group]) for group in groups]
    cells = [f"{run['turnaround_ns']:.0f} ns", ", ".join(near) + " %"]
    if run["early"] > MANY_EARLY or not run["decisions"]:
        cells.append("-")
    else:
        same = [span([rule["same_sm"] for rule in group]) for group in groups]
        cells.append(", ".join([*same, span([run["possible"]])]) + " %")
    errors = [span([rule["makespan_error"] for rule in group], "+.2f") for group in groups[:3]]
    return [*cells, ", ".join(errors) + " %"]


def span(shares, form=".1f"):
    if None in shares:
        return "-"
    values = [100 * share for share in shares]
    low, high = (format(value, form) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def test_a_given_turnaround_is_taken(tmp_path):
    file = tmp_path / "f.json"
    path = path_of("uniform_1d_2persm")
    assert silicon(path, "--turnaround", 640, "--json", file).exit_code == 0
    (run,) = json.loads(file.read_text())
    assert (run["turnaround_ns"], run["turnaround"], run["fitted_on"]) == (640, "given", [])
    error = run["rules"]["freed_first"]["makespan_error"]
    assert error == pytest.approx(-0.007, abs=0.0005)


def grid_of(slots, turnaround, seed):
    """Return the lines of a grid on four SMs of one slot with a fixed turnaround."""
    draws, left, rows = random.Random(seed), [-turnaround] * 4, []
    for number in range(400):
        sm = min(range(4), key=left.__getitem__)
        start = left[sm] + turnaround
        left[sm] = start + draws.randrange(2000, 9000)
        rows.append(f"{number},{number},0,0,{sm},{start},{left[sm]}")
    head = f"# grid={len(rows)},1,1 resident_blocks_per_sm={slots}"
    return "\n".join([head, "block,bx,by,bz,sm,start_ns,end_ns", *rows])


def test_recordings_of_your_own_are_fitted_on_one_another(tmp_path):
    """A turnaround that differs shows in the makespan of the other recording, not in its own."""
    paths, file = [tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "f.json"
    for path, turnaround in zip(paths, (200, 700), strict=True):
        path.write_text(grid_of(1, turnaround, seed=turnaround))
    done = silicon(*paths, "--json", file)
    assert done.exit_code == 0
    runs = json.loads(file.read_text())
    assert [round(run["turnaround_ns"]) for run in runs] == [700, 200]
    assert [run["fitted_on"] for run in runs] == [["b"], ["a"]]
    errors = [run["rules"]["gpc_rounds"]["makespan_error"] for run in runs]
    assert errors[0] > 0.05 and errors[1] < -0.05

    done = silicon(paths[0], "--json", file)
    (alone,) = json.loads(file.read_text())
    assert (round(alone["turnaround_ns"]), alone["turnaround"]) == (200, "itself")
    assert "fitted on this recording, so this is no test" in " ".join(done.output.split())

    assert silicon(paths[0], "--fit", paths[1], "--json", file).exit_code == 0
    (named,) = json.loads(file.read_text())
    assert (round(named["turnaround_ns"]), named["fitted_on"]) == (700, ["b"])


def test_recordings_of_two_folders_come_from_two_programs(tmp_path):
    file = tmp_path / "f.json"
    paths = [tmp_path / "one" / "a.csv", tmp_path / "two" / "a.csv"]
    for path in paths:
        path.parent.mkdir()
        path.write_text(grid_of(1, 300, seed=1))
    assert silicon(*paths, "--json", file).exit_code == 0
    assert [run["turnaround"] for run in json.loads(file.read_text())] == ["itself", "itself"]


def test_fit_and_turnaround_exclude_each_other(tmp_path):
    path = path_of("uniform_1d_1persm")
    done = silicon(path, "--fit", path, "--turnaround", 5)
    assert done.exit_code == 2 and "--fit and --turnaround exclude each other" in done.output
    done = silicon(path, "--fit", path, "--json", path)
    assert done.exit_code == 2


def test_help_shows_examples_and_exit_codes():
    said = silicon("--help").output
    assert "warploom silicon mine.csv --fit other.csv" in said
    assert "The exit code is 0, 2 if a recording was refused" in " ".join(said.split())


def lines(name="uniform_1d_1persm"):
    return gzip.decompress(path_of(name).read_bytes()).decode().splitlines()


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
    assert run["left_over"]["blocks"] > 0.8 * (len(sms))


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
    row = text[2].split(",")
    row[11] = str(int(row[10]) - 1)
    path.write_text("\n".join([*text[:2], ",".join(row), *text[3:]]))
    with pytest.raises(WarploomError, match=r"line 3: end_clock is \d+; legal: start_clock"):
        recording.load(path)
    path.write_bytes(b"\x1f\x8bnonsense")
    with pytest.raises(WarploomError, match="no recording"):
        recording.load(path)
    path.write_bytes(b"")
    with pytest.raises(WarploomError, match="line 1"):
        recording.load(path)
    assert silicon(path, "--turnaround", "-1").exit_code == 2
    assert silicon(path_of("uniform_1d_1persm"), "--plot", "plot.txt").exit_code == 2
