"""Where commands print: tables whole into a file or a pipe, progress as a bar or as lines."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Final

import click
from rich.console import Console
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table
from rich.text import Text

#: Columns of a table that goes into a file or a pipe: there is no screen to fit.
PIPE_WIDTH: Final = 160
#: Columns of the narrowest table: on a narrower screen its lines wrap.
LEAST_WIDTH: Final = 20
#: More columns than any screen has.
MOST_WIDTH: Final = 10_000
#: Columns of a terminal that does not say how many.
_UNKNOWN_WIDTH: Final = 80
#: Columns of a narrowest column whose words may be broken.
_FOLDED: Final = 6
#: Lines of a screen; no table depends on them.
_HEIGHT: Final = 25
#: Most characters of what goes on, in a line of `LineProgress`.
LINE_NAME: Final = 72
#: Seconds between two lines of `LineProgress` if less than a tenth is done between them.
LINE_S: Final = 30
#: Seconds between two looks at how far work is: work that is shorter says nothing.
LOOK_S: Final = 1.0
#: Columns of a bar's row that names leave to the bar and to the times.
_BAR_AND_TIMES: Final = 28
_quiet = False


class TableConsole(Console):
    """A console that cuts no word of a table: where its width is too small, lines are longer."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as `rich` does."""
        for table in objects:
            if isinstance(table, Table):
                self._keep_words(table)
                options["crop"] = False
        super().print(*objects, **options)

    def _keep_words(self, table: Table) -> None:
        """Let each column have room for its longest word; a column that folds breaks words."""
        options = self.options.update(max_width=MOST_WIDTH)
        for column in table.columns:
            cells = [Measurement.get(self, options, one) for one in (column.header, *column.cells)]
            words = max(cell.maximum if column.no_wrap else cell.minimum for cell in cells)
            least = min(words, _FOLDED) if column.overflow == "fold" else words
            column.min_width = max(least, column.min_width or 0)


class PlainConsole(TableConsole):
    """A console whose tables are drawn in ASCII: for files, pipes, and what reads them."""

    @property
    def encoding(self) -> str:
        """What rich asks for before it draws lines."""
        return "ascii"


def table_console() -> Console:
    """Return the console that tables are printed on; into a file or a pipe they are plain ASCII.

    ``COLUMNS`` bounds the width of both, as far as the longest words leave it.
    """
    if sys.stdout.isatty():
        width = columns_given() or _columns_of_terminal()
        # Without a height rich takes a dumb terminal for one of 80 columns.
        return TableConsole(width=max(width, LEAST_WIDTH), height=_HEIGHT)
    return PlainConsole(width=max(columns_given() or PIPE_WIDTH, LEAST_WIDTH), height=_HEIGHT)


def columns_given() -> int | None:
    """Return the environment's ``COLUMNS``; None if it is no number from 1 up: it says nothing."""
    text = os.environ.get("COLUMNS", "")
    columns = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    return min(columns, MOST_WIDTH) or None


def _columns_of_terminal() -> int:
    """Return the width of the terminal on standard output; 80 if it does not say."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _UNKNOWN_WIDTH
    except OSError:
        return _UNKNOWN_WIDTH


def shortened(text: str, most: int) -> str:
    """Return a text, its middle left out if it exceeds ``most`` characters."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = len(text) - (most - head - 1)
    return f"{text[:head]}\N{HORIZONTAL ELLIPSIS}{text[tail:]}"


def be_quiet() -> None:
    """Show no progress from now on: this process works for another one that shows it."""
    global _quiet
    _quiet = True


def _whole() -> Column:
    """Return a column that is never made narrower than what stands in it."""
    return Column(no_wrap=True)


class _Name(ProgressColumn):
    """What goes on, as far as counter and times leave room for it in a row of a width."""

    def __init__(self, width: int):
        super().__init__(table_column=_whole())
        self._width = width

    def render(self, task: Task) -> Text:
        """Return the name, its middle left out where it is too long."""
        counter = 2 * len(str(int(task.total or 0))) + 1
        return Text(shortened(task.description, max(4, self._width - counter - _BAR_AND_TIMES)))


class LineProgress(Progress):
    """Progress in lines, where no bar shows: one for each tenth of the work, or after 30 seconds.

    A thread looks once a second. Nothing is printed after `stop`.
    """

    def __init__(self, get_time: Callable[[], float] = monotonic):
        super().__init__(disable=True, get_time=get_time)
        self._over = threading.Event()
        self._looker = threading.Thread(target=self._look, daemon=True)
        self._said: dict[TaskID, tuple[float, int]] = {}

    def start(self) -> None:
        """Begin to look."""
        self._looker.start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        if self._looker.is_alive():
            self._looker.join()

    def _look(self) -> None:
        while not self._over.wait(LOOK_S):
            self.say()

    def say(self) -> None:
        """Print a line for each task of which one is due."""
        now = self.get_time()
        for task in self.tasks:
            tenths = int(10 * task.completed / task.total) if task.total else 0
            at, before = self._said.setdefault(task.id, (now - (task.elapsed or 0), 0))
            if task.finished or (tenths <= before and now - at < LINE_S):
                continue
            self._said[task.id] = now, tenths
            click.echo(_line(task), err=True)


def _line(task: Task) -> str:
    name = shortened(task.description, LINE_NAME) or "work"
    parts = [f"{task.elapsed or 0:,.0f} s"]
    if task.total:
        share = task.completed / task.total
        parts = [f"{task.completed:,.0f} of {task.total:,.0f}", f"{share:.0%}", *parts]
        if share:
            parts.append(f"about {(task.elapsed or 0) * (1 / share - 1):,.0f} s left")
    elif task.completed:
        parts = [f"{task.completed:,.0f} done", *parts]
    return f"{name}: {', '.join(parts)}"


def progress_bar(announcement: str = "", console: Console | None = None) -> Progress:
    """Return a progress bar that vanishes at its end; in a file or a pipe, lines.

    Parameters
    ----------
    announcement : str
        What begins and takes long: one line in a file or a pipe, at once.
    console : Console or None
        Where the bar shows; None: standard error.
    """
    console = console or Console(stderr=True)
    if _quiet:
        return Progress(disable=True)
    if not _moves(console):
        if announcement:
            click.echo(announcement, err=True)
        return LineProgress()
    # Where the row is too wide for the screen the bar gets shorter, and nothing else.
    return Progress(
        _Name(console.width),
        BarColumn(),
        MofNCompleteColumn(table_column=_whole()),
        TimeRemainingColumn(table_column=_whole()),
        TimeElapsedColumn(table_column=_whole()),
        console=console,
        transient=True,
    )


def _moves(console: Console) -> bool:
    """Tell a terminal on which a bar can be drawn anew; one that is dumb gets lines."""
    return console.is_terminal and not console.is_dumb_terminal


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that work goes on of which nobody knows how much is done: a spinner, or lines."""
    console = Console(stderr=True)
    if _moves(console) and not _quiet:
        with console.status(what):
            yield
        return
    with progress_bar() as progress:
        progress.add_task(what, total=None)
        yield
