"""The numbered rules of the blocks' pages, and the tests that name them."""

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from warploom_spec import WarploomError

#: Blocks whose rules stand on another one's page.
PAGE_OF: Final = {"index_unpacker": "index_packer"}
#: The marker by which a test names rules: ``@pytest.mark.rule("grid_walker", 2, 4)``.
MARKER: Final = "rule"
_RULE: Final = re.compile(r"^(\d+)\. (.*(?:\n   .*)*)", re.MULTILINE)
#: Characters of a rule that the plan shows.
LONGEST: Final = 160
#: Sections that have steps or examples, no rules.
_NO_RULES: Final = ("## Timing", "## Cost", "## Worked examples")


@dataclass(frozen=True)
class Page:
    """A block's page.

    Attributes
    ----------
    name : str
        Of the block.
    path : Path
        From the repository's root on.
    rules : dict of int to str
        Each rule's number and its first sentence.
    """

    name: str
    path: Path
    rules: dict[int, str]


def page_of(name: str) -> Page:
    """Return the page of a block.

    Raises
    ------
    WarploomError
        If there is none, it has no numbered rule, or a number is missing or comes twice.
    """
    found = sorted(Path("docs").glob(f"*/{name}.md"))
    if len(found) != 1:
        raise WarploomError(f"docs/*/{name}.md are {len(found)} pages; legal: 1")
    text = found[0].read_text()
    for heading in _NO_RULES:
        text = text.partition(f"\n{heading}\n")[0]
    numbered = [(int(number), _sentence(rule)) for number, rule in _RULE.findall(text)]
    numbers = [number for number, _ in numbered]
    if not numbers or numbers != list(range(1, len(numbers) + 1)):
        raise WarploomError(f"{found[0]} has the rules {numbers}; legal: 1, 2, 3 and so on")
    return Page(name, found[0], dict(numbered))


def _sentence(rule: str) -> str:
    """Return a rule's first sentence, without links and line breaks."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(rule.split()))
    first = re.split(r"(?<=\.) ", text, maxsplit=1)[0]
    return textwrap.shorten(first, LONGEST, placeholder=" ...").replace("|", r"\|")


@dataclass(frozen=True, order=True)
class Named:
    """A test that names a rule: the rule's page and number, the test's file and name."""

    page: str
    number: int
    file: str
    test: str


def named_rules(folder: Path = Path("tb")) -> list[Named]:
    """Return all rules that tests name, in order; deep tests as well."""
    found = [
        named for path in sorted(folder.rglob("test_*.py")) for named in _named_in(path, folder)
    ]
    return sorted(found)


def _named_in(path: Path, folder: Path) -> Iterator[Named]:
    text = path.read_text()
    if f"mark.{MARKER}(" not in text:
        return
    for function in ast.parse(text).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        for mark in function.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == f"pytest.mark.{MARKER}":
                page, *numbers = (ast.literal_eval(argument) for argument in mark.args)
                file = str(path.relative_to(folder.parent))
                for number in numbers:
                    yield Named(page, number, file, function.name)
