"""Reads the tasks of one merged kernel from a TOML file."""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from warploom_golden.merging.mapping_table import MappingTable, TableEntry
from warploom_golden.merging.task import Task
from warploom_golden.oracles.index_reference import Dims, warps
from warploom_sim.traces.trace_file import Place, shown
from warploom_spec import Config, LaunchDescriptor, WarploomError
from warploom_spec.resources import AMOUNT_FIELDS

_MOST: Final = 2**31 - 1
#: Longest block, in cycles.
_LONGEST: Final = 2**26 - 1
#: What a task takes beside registers and shared memory, which it gives as CUDA does.
_AMOUNTS: Final = tuple(n for n in AMOUNT_FIELDS if n not in ("warp_registers", "shared"))
_TASK_FIELDS: Final = (
    "name",
    "grid",
    "block",
    "cycles",
    "needs",
    "registers",
    "shared_bytes",
    *_AMOUNTS,
    "weight",
)
_ENTRY_FIELDS: Final = ("task", "first", "last")
_FILE_FIELDS: Final = ("tasks", "entries", "permuted")


@dataclass(frozen=True)
class TaskFile:
    """The contents of a task file.

    Attributes
    ----------
    path : Path
        The file.
    tasks : tuple of Task
        The file's tasks.
    table : MappingTable or None
        The file's mapping table, not checked yet; None: a planner makes one.
    """

    path: Path
    tasks: tuple[Task, ...]
    table: MappingTable | None


def load_tasks(path: Path, config: Config) -> TaskFile:
    """Read a file.

    Raises
    ------
    WarploomError
        If the file is no TOML, a field is missing, unknown or wrong, or a name is not that of a
        task. One line: file, task or entry, field, value, what is legal.
    """
    top = Place(path)
    try:
        content = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise top.refuse(error.strerror or str(error)) from error
    except RecursionError as error:
        raise top.refuse("not a task file: nested too deeply") from error
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        raise top.refuse(f"not TOML: {error}") from error
    _only(top, content, _FILE_FIELDS)
    listed = _tables(top, content, "tasks")
    places = [Place(path, f"task {number}") for number in range(len(listed))]
    names = _names(places, listed)
    tasks = [
        _task(place, number, values, names, config)
        for number, (place, values) in enumerate(zip(places, listed, strict=True))
    ]
    tasks = _with_addresses(tasks, config)
    if "entries" not in content and "permuted" not in content:
        return TaskFile(path, tuple(tasks), None)
    entries = [
        _entry(Place(path, f"entry {number}"), values, names)
        for number, values in enumerate(_tables(top, content, "entries"))
    ]
    permuted = {n: tasks[n].blocks for n in _numbers(top, content, "permuted", names)}
    return TaskFile(path, tuple(tasks), MappingTable(tuple(tasks), tuple(entries), permuted))


def _tables(place: Place, values: Any, name: str) -> list[Any]:
    """Return a field that is a list of tables with at least one."""
    listed = place.field(values, name)
    if not isinstance(listed, list) or not listed or not all(isinstance(v, dict) for v in listed):
        raise place.refuse(f"{name!r} is no list of tables; legal: [[{name}]] at least once")
    return listed


def _only(place: Place, values: Any, legal: tuple[str, ...]) -> None:
    unknown = [name for name in values if name not in legal]
    if unknown:
        raise place.refuse(f"field {unknown[0]!r} is unknown; legal: {', '.join(legal)}")


def _names(places: list[Place], listed: list[Any]) -> dict[str, int]:
    """Return each task's number by its name."""
    names: dict[str, int] = {}
    for number, (place, values) in enumerate(zip(places, listed, strict=True)):
        name = place.text(values, "name")
        if name in names:
            raise place.refuse(f"'name' is {shown(name)}, as that of task {names[name]}")
        names[name] = number
    return names


def _numbers(place: Place, values: Any, name: str, names: dict[str, int]) -> list[int]:
    """Return a field that is a list of tasks' names, by number; without it none."""
    listed = values.get(name, [])
    if not isinstance(listed, list):
        raise place.refuse(f"{name!r} is {shown(listed)}; legal: a list of tasks' names")
    return [_number(place, name, one, names) for one in listed]


def _number(place: Place, field: str, name: Any, names: dict[str, int]) -> int:
    if not isinstance(name, str) or name not in names:
        raise place.refuse(f"{field!r} names {shown(name)}; legal: {', '.join(names)}")
    return names[name]


def _task(place: Place, number: int, values: Any, names: dict[str, int], config: Config) -> Task:
    name = place.text(values, "name")
    place = replace(place, what=f"{place.what} ({name})")
    _only(place, values, _TASK_FIELDS)
    grid, block = (place.triple(values, dims, _MOST) for dims in ("grid", "block"))
    if 0 in grid:
        raise place.refuse(f"'grid' is {list(grid)}: a task without blocks; legal: 1 and more")
    given = {"registers": 0, "shared_bytes": 0} | values
    try:
        launch = LaunchDescriptor.from_cuda(
            grid,
            block,
            place.integer(given, "registers"),
            place.integer(given, "shared_bytes"),
            config,
        )
        launch = replace(
            launch,
            code=number,
            arguments=place.integer(values, "cycles", 1, _LONGEST),
        )
        amounts: dict[str, Any] = {
            name: place.integer(values, name) for name in _AMOUNTS if name in values
        }
        launch = replace(launch, **amounts)
        launch.pack(config)
    except WarploomError as error:
        said = str(error)
        raise (error if said.startswith(str(place.path)) else place.refuse(said)) from error
    return Task(
        launch=launch,
        depends=frozenset(_numbers(place, values, "needs", names)),
        weight=place.integer(values, "weight") if "weight" in values else None,
        name=name,
    )


def _entry(place: Place, values: Any, names: dict[str, int]) -> TableEntry:
    _only(place, values, _ENTRY_FIELDS)
    task = _number(place, "task", place.field(values, "task"), names)
    first: Dims = place.triple(values, "first", _MOST)
    return TableEntry(
        task, first, place.triple(values, "last", _MOST) if "last" in values else first
    )


def _with_addresses(tasks: list[Task], config: Config) -> list[Task]:
    """Give each shape an index address of its own, one behind the other."""
    addresses: dict[Dims, int] = {}
    free = 0
    for task in tasks:
        block = task.launch.block
        if block not in addresses:
            # Beyond the memory LaunchCheck refuses the task, whatever its address.
            addresses[block] = min(free, config.index_memory_warps - 1)
            free += warps(block, config.warp_size)
    return [replace(task, launch=task.launch.at(addresses[task.launch.block])) for task in tasks]
