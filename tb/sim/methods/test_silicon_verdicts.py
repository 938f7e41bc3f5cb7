"""Recordings of a GPU whose rule is known: what ``warploom silicon`` says of them."""

import heapq
import json
import random
from collections import deque

import pytest
from click.testing import CliRunner

from warploom_sim.cli import main
from warploom_sim.methods.silicon.comparison import RULES
from warploom_sim.methods.silicon.verdict import apart, verdicts

SMS, SLOTS, TURNAROUND, TICK = 24, 16, 150, 1 / 1.665
#: The GPU's own number of its first SM.
FIRST_SM = 100
#: A GPU's rule: the SM for the next block, of those with room, after the SM of the last one.
GPU_RULES = {
    "first_fit": lambda waiting, last, left, draws: waiting[0],
    "round_robin": lambda waiting, last, left, draws: min(
        waiting, key=lambda sm: (sm - last - 1) % SMS
    ),
    "least_loaded": lambda waiting, last, left, draws: max(
        waiting, key=lambda sm: (len(left[sm]), -sm)
    ),
    "freed_first": lambda waiting, last, left, draws: min(waiting, key=lambda sm: left[sm][0]),
    "chance": lambda waiting, last, left, draws: draws.choice(waiting),
}


def recorded(rule, seed, blocks=2000, mean=60, late=None):
    """Return the lines of a grid that a GPU placed by a rule, a block a tick at most.

    The slots of SM ``late`` are free 300 ns after the others' would be.
    """
    draws = random.Random(seed)
    rows, ends, time, last = [], [], 0.0, SMS - 1
    left = [deque([0.0] * SLOTS) for _ in range(SMS)]
    for number in range(blocks):
        if number < SMS * SLOTS:
            sm = number % SMS
        else:
            if not any(left):
                time = max(time, ends[0][0])
            while ends and ends[0][0] <= time:
                _, sm, end = heapq.heappop(ends)
                left[sm].append(end)
            waiting = [sm for sm in range(SMS) if left[sm]]
            sm = GPU_RULES[rule](waiting, last, left, draws)
        left[sm].popleft()
        end = time + draws.uniform(mean / 8, 2 * mean)
        heapq.heappush(ends, (end + TURNAROUND + 300 * (sm == late), sm, end))
        rows.append(f"{number},{number},0,0,{FIRST_SM + sm},{time + 0.5:.0f},{end + 0.5:.0f}")
        last, time = sm, time + TICK
    return [
        f"# grid={blocks},1,1 resident_blocks_per_sm={SLOTS}",
        "block,bx,by,bz,sm,start_ns,end_ns",
        *rows,
    ]


def judged(tmp_path, lines, *arguments):
    """Return the figures for one recording; its verdicts are what the command prints, too."""
    path, file = tmp_path / "mine.csv", tmp_path / "f.json"
    path.write_text("\n".join(lines))
    done = CliRunner().invoke(main, ["silicon", str(path), "--json", str(file), *arguments])
    assert done.exit_code == 0, done.output
    (figures,) = json.loads(file.read_text())
    printed = " ".join(done.output.split())
    assert all(line in printed for line in figures["verdicts"])
    return figures


def same_sm(figures):
    (line,) = [line for line in figures["verdicts"] if line.startswith("Same SM")]
    return line


@pytest.mark.parametrize("rule", [rule for rule in GPU_RULES if rule != "chance"])
def test_the_gpus_own_rule_is_found(tmp_path, seed, rule):
    # Blocks so short that several SMs have room at a time.
    figures = judged(tmp_path, recorded(rule, seed), "--turnaround", str(TURNAROUND))
    shares = {name: result["same_sm"] for name, result in figures["rules"].items()}
    assert shares.pop("h200_rounds") is None
    assert figures["waiting"] > 2
    assert shares[rule] == max(shares.values()) > 0.6 > 3 * shares["chance"]
    leaders = same_sm(figures).removeprefix("Same SM: ").split(" up to ")[0]
    assert rule in leaders and "says nothing" not in same_sm(figures)


def test_a_rule_alone_is_told_apart_from_all_others(tmp_path, seed):
    figures = judged(tmp_path, recorded("freed_first", seed), "--turnaround", str(TURNAROUND))
    assert same_sm(figures).startswith("Same SM: freed_first is told apart")


def test_two_rules_that_coincide_cannot_be_told_apart(tmp_path, seed):
    """The order of both is the same here: around the SMs."""
    figures = judged(tmp_path, recorded("round_robin", seed), "--turnaround", str(TURNAROUND))
    assert figures["rules"]["gpc_rounds"]["same_sm"] == figures["rules"]["round_robin"]["same_sm"]
    assert same_sm(figures).startswith("Same SM: gpc_rounds, round_robin up to")
    assert ": these cannot be told apart." in same_sm(figures)


def test_chance_does_as_well_as_any_rule_if_the_gpu_draws(tmp_path, seed):
    figures = judged(tmp_path, recorded("chance", seed), "--turnaround", str(TURNAROUND))
    assert "chance does as well" in same_sm(figures)
    assert "this recording says nothing" in same_sm(figures)


def test_chance_does_as_well_if_a_recordings_sms_are_drawn(tmp_path, seed):
    """A shuffled column: times are right, and no SM belongs to its block."""
    lines = recorded("freed_first", seed, mean=6000)
    rows = [line.split(",") for line in lines[2 + SMS * SLOTS :]]
    sms = [row[4] for row in rows]
    random.Random(seed).shuffle(sms)
    mixed = [",".join([*row[:4], sm, *row[5:]]) for row, sm in zip(rows, sms, strict=True)]
    figures = judged(tmp_path, [*lines[: 2 + SMS * SLOTS], *mixed], "--turnaround", str(TURNAROUND))
    within = figures["verdicts"][0]
    assert within.startswith("Within 96 ns: chance does as well")
    assert within.endswith("this recording says nothing.")


def test_the_sm_that_no_model_explains_is_named(tmp_path, seed):
    lines = recorded("round_robin", seed, blocks=1500, mean=3000, late=17)
    figures = judged(tmp_path, lines, "--turnaround", str(TURNAROUND))
    left_over = figures["left_over"]
    assert left_over["blocks"] > 20
    assert next(iter(left_over["most"])) == str(FIRST_SM + 17)
    left, other_gpu = figures["verdicts"][-2:]
    assert left.startswith("Left over by gpc_rounds")
    assert other_gpu == (
        "h200_rounds: -, since the recording has 24 SMs, the rule is that of 132, SM 0 to 131."
    )
    clean = judged(
        tmp_path, recorded("round_robin", seed, blocks=1500, mean=3000), "--turnaround", "150"
    )
    assert clean["left_over"]["blocks"] < left_over["blocks"] / 4


def test_a_grid_of_one_wave_says_nothing(tmp_path, seed):
    figures = judged(tmp_path, recorded("chance", seed, blocks=SMS * SLOTS))
    assert figures["verdicts"] == ["No block behind the first wave: this recording says nothing."]


def figures(shares, **changed):
    """Return figures with the same share for 'within' and for 'same SM'."""
    rules = {
        rule: {"near": {"96": shares.get(rule, 0.5)}, "same_sm": shares.get(rule, 0.5)}
        | {"makespan_error": 0.0}
        for rule in RULES
    }
    rules["h200_rounds"] |= {"recorder_ns": -28.8, "start_gap_ns": 0.0, "fitted_on": ["other"]}
    return {
        "blocks": 1000,
        "first_wave": 100,
        "rules": rules,
        "best": "h200_rounds",
        "early": 0.0,
        "decisions": 900,
        "possible": 1.0,
        "turnaround": "itself",
        "fitted_on": ["mine"],
        "left_over": {"blocks": 0, "sms": 0, "most": {}},
        "missed_by_sm": {},
    } | changed


def test_verdicts_by_their_shares():
    within = "Within 96 ns: "
    told = verdicts(figures({"first_fit": 0.9, "chance": 0.1}))[0]
    assert (
        told == f"{within}first_fit is told apart: 90.0 %, chance 10.0 %, the others up to 50.0 %."
    )
    same = verdicts(figures({"chance": 0.1}))[0]
    assert same == f"{within}all policies up to 50.0 %, chance 10.0 %: these cannot be told apart."
    nothing = verdicts(figures({}))[0]
    assert nothing == f"{within}chance does as well (50.0 %): this recording says nothing."
    better = verdicts(figures({"chance": 0.9}))[0]
    assert better == f"{within}chance does as well (90.0 %): this recording says nothing."
    assert "so this is no test" in verdicts(figures({}))[2]
    early = verdicts(figures({"chance": 0.1}, early=0.06))[1]
    assert "no decision can be dated: this recording says nothing" in early
    none = verdicts(figures({"chance": 0.1}, decisions=0))[1]
    assert none == "Same SM: no decision between two SMs: this recording says nothing."


@pytest.mark.parametrize(
    ("one", "other", "count", "differ"),
    [
        (0.5, 0.5, 10**6, False),
        (0.5, 0.51, 10**6, False),
        (0.5, 0.53, 10**6, True),
        (0.5, 0.6, 100, False),
        (0.5, 0.8, 100, True),
        (1.0, 0.0, 19, False),
        (1.0, 0.0, 20, True),
    ],
)
def test_shares_differ_by_more_than_chance_makes_them_differ(one, other, count, differ):
    assert apart(one, other, count) is apart(other, one, count) is differ
