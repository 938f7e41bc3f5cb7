"""Area and clock rate: whether Verilog and flow are those that were measured."""

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from warploom_dev.freshness.question import Question
from warploom_dev.synth import flow, source, synth_figures
from warploom_dev.synth.measure import Key, Row
from warploom_dev.synth.targets import BASELINE, Target, all_targets

#: The file of `docs/figures` that has the rows.
FIGURES: Final = "synth"
#: Where the tools are locked: they themselves are not needed.
LOCK: Final = Path("requirements/fpga.txt")


def questions() -> Iterator[Question]:
    """Yield one for each target."""
    committed = synth_figures.read(synth_figures.FILE)
    tools = locked_tools()
    for target in all_targets():
        row = committed.get(target.key)
        yield Question(
            figures=FIGURES,
            row=target.name,
            block="" if target.block == BASELINE else target.module,
            command=f'make synth ARGS="{_options(target)} --update"',
            marked=row.stale if row else None,
            declared=False,
            is_fresh=functools.partial(is_fresh, row, target, tools) if row else None,
        )


def locked_tools() -> dict[str, str]:
    """Return the versions of the flow's tools that are locked, by their names."""
    versions = dict(re.findall(r"^(\S+)==(\S+)$", LOCK.read_text(), re.MULTILINE))
    return {name: versions[name] for name in flow.TOOLS}


def _options(target: Target) -> str:
    fields = ("block", "config", "policy", "reclaim")
    given = zip(fields, target.key, strict=True)
    return " ".join(f"--{field} {value}" for field, value in given if value)


def is_fresh(row: Row, target: Target, tools: Mapping[str, str]) -> bool:
    """Return whether a row is of the present flow, Verilog and ports."""
    if row.recipe_hash != flow.recipe_hash(tools, target.device, target.static):
        return False
    made = source.generate(target)
    return (made.netlist_hash, made.port_bits) == (row.netlist_hash, row.port_bits)


def mark(stale: Mapping[str, bool]) -> None:
    """Write the marks of rows; those that are not named keep theirs."""
    names: dict[Key, str] = {target.key: target.name for target in all_targets()}
    rows = synth_figures.read(synth_figures.FILE).values()
    synth_figures.write(
        synth_figures.FILE,
        [replace(row, stale=stale.get(names.get(row.key, ""), row.stale)) for row in rows],
    )
