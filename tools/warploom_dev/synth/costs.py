"""What a block costs, in the words of the block's own page: a line for each of its rows."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from warploom_dev.figure_rows import marked
from warploom_dev.pages import section_replaced
from warploom_dev.synth.measure import Row
from warploom_dev.synth.targets import (
    DISPATCHER,
    FRONT_END,
    INDEX,
    INDEX_WITH_MEMORY,
    USUAL_DEVICE,
)
from warploom_sim.json_file import write_whole
from warploom_spec import Config

#: The line behind which a page's costs stand.
_BEGIN: Final = "<!-- Written by `python -m warploom_dev synth --update`. -->"
#: By page, in the repository, the blocks whose costs it has.
PAGES: Final = {
    Path("docs") / f"{name}.md": blocks
    for name, blocks in {
        "dispatch/block_dispatcher": (DISPATCHER,),
        "index/config_filter": ("ConfigFilter",),
        "dispatch/grid_walker": ("GridWalker",),
        "sm_side/incremental_scheduler": ("IncrementalScheduler",),
        "sm_side/resource_ranges": ("ResourceRanges",),
        "sm_side/block_to_warps": ("BlockToWarps",),
        "sm_side/block_at_a_time": ("BlockAtATime",),
        "index/index_generator": (INDEX, INDEX_WITH_MEMORY),
        "index/index_iterator": ("IndexIterator",),
        "index/index_memory": ("IndexMemory",),
        "index/index_packer": ("IndexPacker", "IndexUnpacker"),
        "launch/launch_check": ("LaunchCheck",),
        "launch/launch_path": ("LaunchPath", "KernelQueue"),
        "launch/record_queue": ("RecordQueue",),
        "host/mailbox": ("Mailbox",),
        "host/front_end": (FRONT_END,),
        "host/loop_expander": ("LoopExpander",),
    }.items()
}


def page_text(page: Path, text: str, rows: Iterable[Row]) -> str:
    """Return the text of one of `PAGES` with its costs written anew.

    Of the dispatcher's rows only those of the default policy and reclaim are there.

    Raises
    ------
    WarploomError
        If the page lacks the two lines between which they stand.
    """
    usual = Config()
    chosen = [
        _line(row)
        for row in rows
        if row.block in PAGES[page]
        and row.policy in (None, usual.policy)
        and row.reclaim in (None, usual.reclaim)
    ]
    return section_replaced(page, text, _BEGIN, "\n".join(chosen))


def page_texts(rows: Iterable[Row]) -> dict[Path, str]:
    """Return the texts of all `PAGES` with their costs written anew; see `page_text`."""
    kept = list(rows)
    return {page: page_text(page, page.read_text(), kept) for page in PAGES}


def write_pages(rows: Iterable[Row]) -> None:
    """Write all pages' costs anew."""
    for page, text in page_texts(rows).items():
        write_whole(page, text)


def _line(row: Row) -> str:
    cells = {"LUT4": row.lut4, "CCU2C": row.ccu2c, "TRELLIS_DPR16X4": row.dpr16x4}
    cells_text = ", ".join(f"{count:,} {name}" for name, count in cells.items() if count)
    others = {"flip-flops": row.ff, "block memories": row.ebr, "multipliers (DSP)": row.dsp}
    words = [f"{row.lut4eq:,} LUT4-equivalents ({cells_text})"]
    words += [f"{count:,} {name}" for name, count in others.items() if count]
    if row.fmax_mhz is not None:
        words.append(f"{row.fmax_mhz} MHz (seeds: {len(row.seeds)})")
    # What stands without a device is of the usual one.
    where = f" on an ECP5-{row.device}" if row.device != USUAL_DEVICE else ""
    name = ", ".join(f"`{part}`" for part in row.key if part)
    return f"- {name}{where}: {marked(', '.join(words), row.stale)}."
