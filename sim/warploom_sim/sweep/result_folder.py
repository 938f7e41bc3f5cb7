"""A comparison's results: a folder of Parquet files; each file has the row of one run.

A file is named after its run, and is written whole or not at all. So a comparison that was killed
goes on with the runs that are missing, and a run that is made twice has one row.
"""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from warploom_sim.json_file import write_whole
from warploom_sim.sweep.plan import Run, parts
from warploom_sim.sweep.run_figures import EVENT_WAITS, GROUPS, SHARES
from warploom_spec import WarploomError
from warploom_spec.extras import need

#: Whole numbers at the beginning of a run's figures, in order.
_COUNTS: Final = ("launches", "refused", "killed", "blocks", "cycles")
#: Figures of a run that are no whole numbers, in the order of its row.
_SHARES: Final = (
    "blocks_per_cycle",
    "rate_by_time_scale",
    "recorded_us",
    "replayed_us",
    "error_percent",
    "launch_error_percent",
)
#: What a finished run is: its identity and its figures, as `warploom compare --json` has them.
Row = dict[str, Any]


class ResultFolder:
    """The results that are kept.

    Parameters
    ----------
    folder : Path
        The folder; it is made when the first row is written. Any reader of Parquet takes the folder
        as one table.
    sources : str
        Hash of the sources that make the rows, and of the versions of what runs them. A row with
        another hash is made anew.
    """

    def __init__(self, folder: Path, sources: str):
        self.folder = folder
        self._sources = sources
        self._arrow = need("pyarrow", "compare", "keeping the results of a comparison")
        self._parquet = need("pyarrow.parquet", "compare", "keeping the results of a comparison")

    def read(self, run: Run) -> Row | None:
        """Return a run's row; None if there is none, or one that other sources made."""
        path = self._path(run)
        try:
            table = self._parquet.read_table(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (self._arrow.ArrowException, OSError) as error:
            raise WarploomError(
                f"{path} is no row of a comparison ({error}); remove it, or name another folder"
            ) from error
        rows = table.to_pylist()
        if len(rows) != 1 or rows[0].get("sources") != self._sources:
            return None
        return _nested(rows[0], run)

    def write(self, run: Run, row: Row) -> None:
        """Keep a run's row, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        columns = {"run_id": run.run_id, "sources": self._sources, **flat(row)}
        table = self._arrow.Table.from_pylist([columns], schema=self._schema())
        packed = io.BytesIO()
        self._parquet.write_table(table, packed)
        write_whole(self._path(run), packed.getvalue())

    def _path(self, run: Run) -> Path:
        return self.folder / f"{run.run_id}.parquet"

    def _schema(self) -> Any:
        """Return the types of all columns, the same in every file."""
        arrow = self._arrow
        text, whole, share = arrow.string(), arrow.int64(), arrow.float64()
        types = {"text": text, "whole": whole, "truth": arrow.bool_()}
        kinds: dict[str, Any] = dict.fromkeys(("run_id", "sources", "trace", "engine"), text)
        kinds |= {one.key: types[one.kind.column] for one in parts().values()}
        del kinds["simulator"]
        kinds |= {"set": arrow.list_(text)}
        kinds |= dict.fromkeys((*_COUNTS, "history_hits", *EVENT_WAITS), whole)
        kinds |= dict.fromkeys((*_SHARES, "wall_s"), share)
        for group, names in GROUPS.items():
            kind = share if group in SHARES else whole
            kinds |= {f"{group}_{name}": kind for name in names}
        return arrow.schema(list(kinds.items()))


def flat(row: Mapping[str, Any]) -> Row:
    """Return a row with a column for each of a group's figures."""
    columns = {name: value for name, value in row.items() if name not in GROUPS}
    columns["set"] = [f"{field}={value}" for field, value in row["set"].items()]
    for group in GROUPS:
        columns |= {f"{group}_{name}": value for name, value in row[group].items()}
    return columns


def _nested(columns: Mapping[str, Any], run: Run) -> Row:
    """Return what `flat` took apart, in the same order."""
    figures = {name: columns[name] for name in (*_COUNTS, *_SHARES)}
    for group, names in GROUPS.items():
        figures[group] = {name: columns[f"{group}_{name}"] for name in names}
    rest = {name: columns[name] for name in ("history_hits", *EVENT_WAITS, "wall_s")}
    return {**run.identity(), **figures, **rest}
