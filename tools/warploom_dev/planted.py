"""Another rule in the source of RTL or model, in memory, for as long as a test or a proof takes.

The files stay as they are, and so does the Verilog that is made of them anywhere else.
"""

import inspect
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from amaranth.hdl import Elaboratable, Fragment


@dataclass(frozen=True)
class Change:
    """One piece of text in the source of a method or function, and what stands there instead.

    Attributes
    ----------
    owner : class or module
        Whose it is.
    name : str
        Its name.
    old, new : str
        ``old`` stands in its source exactly once.
    """

    owner: Any
    name: str
    old: str
    new: str

    def made(self) -> Any:
        """Return the changed function.

        Raises
        ------
        AssertionError
            If ``old`` does not stand there exactly once: the source is another by now.
        """
        function = getattr(self.owner, self.name)
        # A function that was changed before has no file.
        source = getattr(function, "planted", None) or textwrap.dedent(inspect.getsource(function))
        where = f"{self.owner.__name__}.{self.name}"
        assert source.count(self.old) == 1, f"{where} has {self.old!r} {source.count(self.old)}x"
        source = source.replace(self.old, self.new)
        made: dict[str, Any] = {}
        code = compile(source, f"<{where}, changed>", "exec")
        exec(code, vars(sys.modules[function.__module__]), made)
        made[self.name].planted = source
        return made[self.name]


@contextmanager
def planted(changes: Iterable[Change]) -> Iterator[None]:
    """Let the changes hold inside the context, one after the other where they share a function."""
    with ExitStack() as undo:
        for change in changes:
            undo.enter_context(mock.patch.object(change.owner, change.name, change.made()))
        yield


class PlantedBlock(Elaboratable):
    """A block that is elaborated with changes, its parts too.

    Parameters
    ----------
    block : Elaboratable
        Not yet elaborated.
    *changes : Change
        Of methods that run while it is elaborated.
    """

    def __init__(self, block: Elaboratable, *changes: Change) -> None:
        self._block, self._changes = block, changes

    def elaborate(self, platform: object) -> Fragment:
        """Return the block's fragment, with those of its parts."""
        with planted(self._changes):
            made: Fragment = Fragment.get(self._block, platform)
            return made
