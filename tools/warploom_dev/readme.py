"""The two parts of README that follow from data: badges, and the table of what works."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from warploom_dev.address import BRANCH, project_address
from warploom_dev.beside_streams import MERGED, ONE, change, read_figures
from warploom_dev.figure_rows import STALE, marked
from warploom_dev.method_figures import FILE as METHODS
from warploom_dev.pages import markdown_table, section_replaced
from warploom_spec import preset

PAGE: Final = Path("README.md")
SYNTH: Final = Path("docs/figures/synth.json")
LATENCY: Final = Path("docs/figures/latency.json")
FORMAL: Final = Path("docs/figures/formal.json")
MUTANTS: Final = Path("docs/figures/mutate.json")
WORKFLOW: Final = Path(".github/workflows/test.yml")
_WRITTEN: Final = "<!-- Written by `python -m warploom_dev readme --update`: {}. -->"
_BADGES: Final = _WRITTEN.format("badges, once the project has an address")
_TABLE: Final = _WRITTEN.format("what works")
_SHIELD: Final = "https://img.shields.io/badge/"


def page_text(root: Path, text: str) -> str:
    """Return README's text with its badges and its table written anew."""
    badged = section_replaced(PAGE, text, _BADGES, badges(root, project_address(root)))
    return section_replaced(PAGE, badged, _TABLE, works(root))


def badges(root: Path, address: str) -> str:
    """Return the badges of workflow, Pythons and licence; none without an address."""
    if not address:
        return ""
    runs = f"{address}/actions/workflows/{WORKFLOW.name}"
    pythons = re.findall(r'"(3\.\d+)"', (root / WORKFLOW).read_text())
    python = f"Python-{pythons[0]}%20to%20{pythons[-1]}-blue"
    return "\n".join(
        (
            f"[![test]({runs}/badge.svg?branch={BRANCH})]({runs})",
            f"[![Python {pythons[0]} to {pythons[-1]}]({_SHIELD}{python})](pyproject.toml)",
            f"[![Licence: Apache-2.0]({_SHIELD}Licence-Apache--2.0-blue)](LICENSE)",
        )
    )


def works(root: Path) -> str:
    """Return the table of what works: parts, methods, and checks, each with a measured figure."""
    latency = json.loads((root / LATENCY).read_text())
    methods = json.loads((root / METHODS).read_text())
    rows = [
        (
            "[index generator](docs/index/index_generator.md): thread indices without division",
            "[yes](hdl/warploom/index/)",
            "[yes](golden/warploom_golden/index/)",
            _on_fpga(root, "IndexGenerator", "default"),
        ),
        (
            "[dispatcher](docs/dispatch/block_dispatcher.md): places blocks on SMs, kills them",
            "[yes](hdl/warploom/dispatch/)",
            "[yes](golden/warploom_golden/dispatch/)",
            f"8 SMs: {_on_fpga(root, 'BlockDispatcher', 'default')}" + _with_132_sms(root),
        ),
        (
            "[host path](docs/host/front_end.md): doorbells over AXI4-Lite, records, interrupt",
            "[yes](hdl/warploom/host/)",
            "[yes](golden/warploom_golden/host/)",
            f"{latency['doorbell_to_first_block']} cycles from a doorbell to the first block",
        ),
        (
            "[stream queues](docs/launch/kernel_queue.md): launches that wait for other streams",
            "[yes](hdl/warploom/launch/)",
            "[yes](golden/warploom_golden/launch/)",
            f"{latency['wait_to_first_offer']} cycles from an awaited launch's record to the first"
            " block",
        ),
        (
            "[merged kernels](docs/merging/merged_kernels.md): several tasks as one launch",
            "[yes, as a program on SimtCores](examples/kernels/merged.c)",
            "[yes](golden/warploom_golden/merging/)",
            f"{_beside_streams(root)}; model with a hardware table, 132 SMs:"
            f" {methods['merge_own_need']['spin_percent']:+} % with own needs,"
            f" {methods['merge_maximum']['spin_percent']:+} % with their maximum",
        ),
        (
            "[preemption](docs/preemption/preemption.md): urgent launches first",
            "[yes](hdl/warploom/launch/)",
            "[yes](golden/warploom_golden/replay/)",
            f"8 SMs, median wait: {methods['preempt']['reset_median_cycles']} cycles by kills,"
            f" {methods['preempt']['drain_median_cycles']} by drains",
        ),
        (
            "[work stealing](docs/stealing/work_stealing.md): workers with doorbells",
            "[mailbox, units](hdl/warploom/host/)",
            "[yes](golden/warploom_golden/stealing/)",
            f"quadrature, 16 workers: {methods['steal']['speedup']} times as fast as one",
        ),
        (
            "[deferred submission](docs/deferral/deferred_submission.md): a loop in one message",
            "[yes](hdl/warploom/host/loop_expander.py)",
            "[yes](golden/warploom_golden/deferral/)",
            f"GPT-2: {methods['defer']['launches']:,} launches in"
            f" {methods['defer']['commands']:,} commands, at best;"
            f" {latency['loop_launch_interval']} cycles a launch of a LOOP",
        ),
        (
            "[proofs](docs/tools/formal.md) and [mutants](docs/tools/mutate.md)",
            "[properties](tools/warploom_dev/formal/properties/)",
            "[benches](tb/benches/)",
            f"{_proofs(root)}; {_mutants(root)}",
        ),
    ]
    headings = ("part", "RTL", "model", "measured")
    return markdown_table(headings, rows, headings)


def _proofs(root: Path) -> str:
    """Return how many properties were proven, and how many up to a number of cycles."""
    rows = json.loads((root / FORMAL).read_text())
    proven = sum(row["proof_answer"] == "proven" for row in rows)
    bounded = sum(row["proof_answer"].startswith("bounded") for row in rows)
    return f"{proven} proven, {bounded} bounded" + _of_them_stale(rows)


def _mutants(root: Path) -> str:
    """Return how many mutants were tried, and how many of them the benches noticed."""
    rows = json.loads((root / MUTANTS).read_text())
    killed, tried = (sum(row[name] for row in rows) for name in ("killed", "mutants"))
    return f"{killed:,} of {tried:,} noticed" + _of_them_stale(rows)


def _of_them_stale(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how many rows are of hardware that has changed since."""
    stale = sum(row["stale"] for row in rows)
    return f" ({stale} of {len(rows)} rows {STALE})" if stale else ""


def _beside_streams(root: Path) -> str:
    """Return how much longer than one stream a merged kernel takes, at best and at worst."""
    rows = read_figures(root)["beside"]
    ratios = [row[MERGED] / row[ONE] for row in rows]
    least, most = (rows[ratios.index(chosen(ratios))] for chosen in (min, max))
    best, worst = (
        f"{change(row, MERGED, ONE)} (SMs: {row['sms']}, blocks: {row['length']})"
        for row in (least, most)
    )
    return f"cycles beside one stream {best} to {worst}"


def _synthesized(root: Path, block: str, config: str) -> list[dict[str, Any]]:
    """Return the committed measurement of a block with its preset's policies, if there is one."""
    chosen = preset(config)
    return [
        row
        for row in json.loads((root / SYNTH).read_text())
        if (row["block"], row["config"]) == (block, config)
        and row["policy"] in (None, chosen.policy)
        and row["reclaim"] in (None, chosen.reclaim)
    ]


def _with_132_sms(root: Path) -> str:
    """Return the largest dispatcher's size, if it was measured."""
    rows = _synthesized(root, "BlockDispatcher", "large")
    return "".join(marked(f"; 132 SMs: {row['lut4eq']:,}", row["stale"]) for row in rows)


def _on_fpga(root: Path, block: str, config: str) -> str:
    (row,) = _synthesized(root, block, config)
    rate = "" if row["fmax_mhz"] is None else f", {row['fmax_mhz']} MHz"
    figures = f"{row['lut4eq']:,} LUT4-equivalents{rate} on an ECP5"
    return marked(figures, row["stale"])
