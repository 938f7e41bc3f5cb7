"""The pages: links lead somewhere, every page is found from README, and each links the glossary."""

import re
import tomllib
from pathlib import Path

import pytest

from warploom_spec.config import POLICIES

ROOT = Path(__file__).parents[1]
#: Columns of a page, as `.editorconfig` has it.
WIDTH = 100
FOLDERS = ("docs", "silicon", "traces", ".github")
PAGES = sorted(
    {*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))}
)
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))


def links(page: Path) -> list[tuple[Path, str]]:
    """Return a page's links to files: the file, and the heading behind ``#`` or an empty string."""
    found = re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", page.read_text())
    return [((page.parent / target).resolve() if target else page, mark) for target, mark in found]


def headings(page: Path) -> set[str]:
    """Return the names of a page's headings as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for target, heading in links(page):
        assert target.exists(), target
        assert not heading or heading in headings(target), f"{target.name} has no #{heading}"


def test_every_page_is_found_from_the_readme() -> None:
    found, new = set(), [ROOT / "README.md"]
    while new:
        page = new.pop()
        found.add(page)
        linked = {target for target, _ in links(page) if target.suffix == ".md"}
        new += linked - found - {*new}
    templates = {page for page in PAGES if ".github" in page.parts}
    assert not [str(page.relative_to(ROOT)) for page in PAGES if page not in found | templates]


def test_every_page_stands_in_the_sites_contents() -> None:
    contents = {*re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text())}
    pages = {
        path.relative_to(ROOT / "docs").as_posix()
        for path in PAGES
        if ROOT / "docs" in path.parents
    }
    assert pages and not pages - contents


def test_every_page_of_a_folder_links_the_glossary() -> None:
    glossary = ROOT / "docs" / "glossary.md"
    folders = [ROOT / folder for folder in ("docs", "silicon", "traces")]
    pages = [page for page in PAGES if {*folders} & {*page.parents} and page != glossary]
    assert all(any(folder in page.parents for page in pages) for folder in folders)
    without = [page for page in pages if glossary not in {target for target, _ in links(page)}]
    assert not [str(page.relative_to(ROOT)) for page in without]


def test_the_list_of_blocks_has_every_blocks_page() -> None:
    text = (ROOT / "docs" / "index.md").read_text()
    rows = re.finditer(r"^\| \[(\w+)\]\(([\w/]+/\1)\.md\)", text, re.MULTILINE)
    linked = {row[2] for row in rows}
    hdl = ROOT / "hdl" / "warploom"
    blocks = {str(path.relative_to(hdl).with_suffix("")) for path in hdl.glob("*/[a-z]*.py")}
    assert linked and linked == {name for name in blocks if (ROOT / "docs" / f"{name}.md").exists()}


def test_the_readme_is_short_and_begins_with_a_picture() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 900
    assert any(line.startswith("![") for line in text.splitlines()[:20])
    assert re.findall(r"^    make (\w+) ", text, re.MULTILINE)[:2] == ["sim", "test"]


def prose(page: Path) -> list[str]:
    """Return a page's lines without code, tables and what a command writes."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!-- Written by.*?<!-- The end[^>]*>", "", text, flags=re.DOTALL)
    return [line for line in text.splitlines() if not line.startswith(("|", "!", "#", "    "))]


@each_page
def test_prose_is_filled_at_one_width(page: Path) -> None:
    """No line is too long, unless it is one word."""
    lines = prose(page)
    assert not [line for line in lines if len(line) > WIDTH and " " in line.strip()]


#: Words of mermaid's flow charts; a node of such a name is an error where the diagram is drawn.
RESERVED = {"call", "class", "click", "default", "end", "flowchart", "graph", "style", "subgraph"}


@each_page
def test_a_diagrams_nodes_have_names_of_their_own(page: Path) -> None:
    for diagram in re.findall(r"^```mermaid\nflowchart (.*?)^```$", page.read_text(), re.M | re.S):
        nodes = set(re.findall(r"\b(\w+)(?:[\[({]| -->| --)", diagram))
        assert len(nodes) > 1 and not nodes & RESERVED


def test_the_changelogs_newest_version_is_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    newest = re.search(r"^## (\d\S*) - \d{4}-\d\d-\d\d$", changelog, re.MULTILINE)
    assert newest and newest[1] == project["version"]


def test_the_changelog_begins_with_what_is_not_released() -> None:
    """Each entry of a part stands under what kind of change it is."""
    text = (ROOT / "CHANGELOG.md").read_text()
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert parts[0].splitlines()[0] == "Unreleased"
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    for part in parts:
        assert {*re.findall(r"^### (.*)$", part, re.MULTILINE)} <= kinds
        assert "\n- " not in part.partition("\n### ")[0]


def test_the_changelog_says_nothing_twice() -> None:
    """Merges of two branches' entries leave the same one twice, or the half of one."""
    entries = re.findall(r"^- ((?:.+\n)(?:  .+\n)*)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert entries
    begins = [entry[:40] for entry in entries]
    assert sorted(begins) == sorted(set(begins))
    assert not [entry for entry in entries if not entry.rstrip().endswith((".", ":", ";"))]


@pytest.mark.parametrize("policy", POLICIES)
def test_each_placement_policy_has_its_rule_on_the_page(policy: str) -> None:
    text = (ROOT / "docs" / "dispatch" / "block_dispatcher.md").read_text()
    section = re.search(r"^##+ Policies$(.*?)^##? ", text, re.MULTILINE | re.DOTALL)
    assert section and f"`{policy}`" in section[1], "write the policy's rule into 'Policies'"
