"""Tables of figures: for the terminal, beside the committed ones, and for a page."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from rich.table import Table

from warploom_dev.figure_rows import marked
from warploom_dev.pages import markdown_table, section_replaced
from warploom_dev.synth.measure import Key, Row
from warploom_dev.synth.peers import PEERS, Peer
from warploom_sim.json_file import write_whole

#: The page, in the repository, and the line behind which its tables stand.
PAGE: Final = Path("docs/tools/synth.md")
_BEGIN: Final = "<!-- Written by `python -m warploom_dev synth --update`. -->"

_HEADINGS: Final = (
    "block",
    "config",
    "policy",
    "reclaim",
    "LUT4-eq",
    "LUT4",
    "CCU2C",
    "DPR16X4",
    "FF",
    "EBR",
    "DSP",
    "Fmax MHz",
    "seeds",
    "nextpnr",
    "port bits",
    "device",
)
_PEER_HEADINGS: Final = (
    "beside",
    "design",
    "LUT4-eq",
    "FF",
    "Fmax MHz",
    "cycles a block",
    "note",
    "source",
)
_TEXT_COLUMNS: Final = frozenset(
    {
        "block",
        "config",
        "policy",
        "reclaim",
        "nextpnr",
        "device",
        "beside",
        "design",
        "note",
        "source",
    }
)


def figures_table(rows: Sequence[Row], committed: dict[Key, Row]) -> Table:
    """Return the figures; behind each that differs from the committed one, the difference."""
    table = _table("Area and clock rate on an ECP5, speed grade 6", _HEADINGS)
    for row in rows:
        table.add_row(*_cells(row, committed.get(row.key)))
    return table


def peers_table(blocks: Iterable[str]) -> Table:
    """Return the peers of these blocks."""
    table = _table("Peers", _PEER_HEADINGS)
    wanted = set(blocks)
    for peer in PEERS:
        if peer.beside in wanted:
            table.add_row(*_peer_cells(peer))
    return table


def page_text(page: str, rows: Sequence[Row]) -> str:
    """Return a page with its tables written anew.

    Raises
    ------
    WarploomError
        If the page lacks the two lines between which they stand.
    """
    ours = markdown_table(_HEADINGS, [_cells(row, row) for row in rows], _TEXT_COLUMNS)
    peers = markdown_table(_PEER_HEADINGS, [_peer_cells(peer) for peer in PEERS], _TEXT_COLUMNS)
    return section_replaced(PAGE, page, _BEGIN, f"{ours}\n\nPeers:\n\n{peers}")


def write_page(rows: dict[Key, Row]) -> None:
    """Write the page's tables anew."""
    write_whole(PAGE, page_text(PAGE.read_text(), list(rows.values())))


def _table(title: str, headings: Sequence[str]) -> Table:
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in _TEXT_COLUMNS else "right")
    return table


def _cells(row: Row, committed: Row | None) -> list[str]:
    def figure(name: str) -> str:
        value = getattr(row, name)
        old = getattr(committed, name) if committed else None
        if value is None:
            return "-"
        text = f"{value:,}"
        if committed is None:
            return f"{text} (new)" if name == "lut4eq" else text
        return text if old is None or value == old else f"{text} ({value - old:+,.6g})"

    return [
        marked(row.block, row.stale),
        *(value or "-" for value in row.key[1:]),
        *(figure(name) for name in ("lut4eq", "lut4", "ccu2c", "dpr16x4", "ff", "ebr", "dsp")),
        figure("fmax_mhz") if row.fits else "does not fit",
        str(len(row.seeds)),
        row.placed_by or "-",
        figure("port_bits"),
        row.device,
    ]


def _peer_cells(peer: Peer) -> list[str]:
    figures = (peer.lut4eq, peer.ff, peer.fmax_mhz)
    return [
        peer.beside,
        peer.name,
        *("-" if figure is None else f"{figure:,}" for figure in figures),
        peer.cycles_per_block or "-",
        peer.note or "-",
        peer.source,
    ]
