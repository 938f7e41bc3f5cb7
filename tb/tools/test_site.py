"""``make docs``: the site holds what the pages hold, and needs nothing from another server."""

import html
import os
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown import markdown

from tb.support.public_address import ADDRESS, set_address
from warploom_dev.address import project_address
from warploom_dev.site.dialect import for_python_markdown, reader
from warploom_dev.site.links import OUTSIDE, in_repository, site_links

# One worker, so that each site is built once.
pytestmark = pytest.mark.xdist_group("site")
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
URIS = sorted({*(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")), *OUTSIDE.values()})


def build(root: Path, to: Path) -> subprocess.CompletedProcess[str]:
    """Run ``make docs`` in a checkout."""
    # Below `make test` a make says which folder it enters.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("M")}
    command = ["make", "docs", f"ARGS=--site-dir {to}"]
    return subprocess.run(command, cwd=root, env=clean, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site of the checkout."""
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return folder


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a checkout whose pages and settings may be changed."""
    root = tmp_path / "checkout"
    root.mkdir()
    for path in ROOT.iterdir():
        if path.name in ("docs", "tools", "pyproject.toml"):
            duplicate = shutil.copytree if path.is_dir() else shutil.copy
            duplicate(path, root / path.name)
        elif path.name not in ("build", ".git"):
            (root / path.name).symlink_to(path)
    # The environment is up to date; a set-up in the copy would install the copy into it.
    makefile = (
        (root / "Makefile").read_text().replace("SETUP := scripts/bootstrap.sh", "SETUP := :")
    )
    (root / "Makefile").unlink()
    (root / "Makefile").write_text(makefile)
    return root


def html_of(site: Path, uri: str) -> str:
    path = site / uri.replace("README.md", "index.md")
    return path.with_suffix(".html").read_text()


# --- what stands on a page ----------------------------------------------------------------------


class Article(HTMLParser):
    """Count what a built page's article holds, and gather its code line by line."""

    def __init__(self, text: str):
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.code: list[list[str]] = []
        self._inside = self._in_code = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside |= tag == "article"
        if self._inside and tag in COUNTED:
            self.counts[tag] += 1
        if self._inside and tag == "pre":
            self._in_code = True
            self.code.append([])

    def handle_endtag(self, tag: str) -> None:
        self._inside &= tag != "article"
        self._in_code &= tag != "pre"

    def handle_data(self, data: str) -> None:
        if self._in_code:
            self.code[-1].append(data)


COUNTED = ("h1", "h2", "h3", "ol", "ul", "li", "table", "tr", "pre", "code", "img")


def stripped(code: str) -> list[str]:
    """Return the lines of a block of code; in a list its indentation is the renderer's."""
    return [line.strip() for line in code.strip().splitlines()]


def read(page: Path) -> tuple[Counter[str], list[list[str]]]:
    """Return what a page holds as a forge reads it: so many of each, and its code."""
    counts: Counter[str] = Counter()
    code: list[list[str]] = []
    blocks = reader().parse(page.read_text())
    for token in [*blocks, *(inline for block in blocks for inline in block.children or ())]:
        if token.nesting == 1 and token.tag in COUNTED:
            counts[token.tag] += 1
        elif token.type in ("fence", "code_block"):
            counts.update(pre=1, code=1)
            code.append(stripped(token.content))
        elif token.type == "code_inline":
            counts["code"] += 1
        elif token.type == "image":
            counts["img"] += 1
    return counts, code


@pytest.mark.thorough
@pytest.mark.parametrize("uri", URIS)
def test_a_page_of_the_site_holds_what_the_page_holds(site: Path, uri: str) -> None:
    article = Article(html_of(site, uri))
    code = [stripped("".join(parts)) for parts in article.code]
    assert (article.counts, code) == read(ROOT / in_repository(uri))


def test_lists_are_set_as_the_sites_renderer_reads_them() -> None:
    page = ["Text", "- one", "  more", "", "  apart", "  1. inner", "", "         code", "- two"]
    made = ["Text", "", "- one", "    more", "", "    apart", "    1. inner", ""]
    made += ["            code", "", "- two"]
    assert for_python_markdown("\n".join(page)).split("\n") == made
    assert for_python_markdown("Text\n1. one\n   more") == "Text\n\n1. one\n    more"
    code = "Text\n\n    - no list\n"
    assert for_python_markdown(code) == code


def test_code_in_a_table_shows_its_bars_without_a_backslash() -> None:
    page = "| a | b |\n| --- | --- |\n"
    page += "| `--gpu NAME\\|FILE` | `_x\\|(*y*)_` `plain_*` \\| `` q`\\| `` |\n"
    assert [code for _, code in re.findall(r"(`+)(.*?)\1", for_python_markdown(page))] == [
        "plain_*"
    ]
    shown = markdown(for_python_markdown(page), extensions=["tables"])
    codes = [html.unescape(code) for code in re.findall("<code>(.*?)</code>", shown)]
    assert codes == ["--gpu NAME|FILE", "_x|(*y*)_", "plain_*", " q`| "]
    assert shown.count("<td>") == 2 and "<em>" not in shown
    # Elsewhere a backslash in code is one.
    assert for_python_markdown("`a\\|b`") == "`a\\|b`"


# --- links --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "text", "bare", "public"),
    [
        ("host/mailbox.md", "[a](../glossary.md#checking)", "[a](../glossary.md#checking)", None),
        ("host/mailbox.md", "[a\nb](../../hdl)", "a\nb", f"[a\nb]({ADDRESS}/tree/main/hdl)"),
        ("index.md", "[`a[1]`](../LICENSE)", "`a[1]`", f"[`a[1]`]({ADDRESS}/blob/main/LICENSE)"),
        ("index.md", "[a](../CONTRIBUTING.md)", "[a](project/contributing.md)", None),
        ("index.md", "[a](../README.md#x)", "[a](index.md#x)", None),
        ("sim/report.md", "[a](../../traces/)", "[a](../project/traces.md)", None),
        ("project/contributing.md", "[a](docs/glossary.md)", "[a](../glossary.md)", None),
        ("project/traces.md", "[a](../docs/glossary.md)", "[a](../glossary.md)", None),
        ("host/mailbox.md", "![a](../../LICENSE)", "a", f"[a]({ADDRESS}/blob/main/LICENSE)"),
        ("index.md", "[a](https://example.org) [b](#c)", "[a](https://example.org) [b](#c)", None),
        ("index.md", "a\n\n    [a](../LICENSE)\n", "a\n\n    [a](../LICENSE)\n", None),
    ],
)
def test_a_link_leads_into_the_site_to_the_address_or_nowhere(
    uri: str, text: str, bare: str, public: str | None
) -> None:
    assert site_links(text, uri, ROOT, "") == bare
    assert site_links(text, uri, ROOT, ADDRESS) == (public or bare)


def test_a_column_of_links_that_lead_nowhere_is_left_out() -> None:
    head = "| a | code | b |\n| --- | --- | ---: |\n"
    rows = "| 1 \\| 2 | [rtl](../hdl), [c](../LICENSE) | x |\n| 3 | [rtl](../hdl) | y |\n"
    there = site_links(f"text\n\n{head}{rows}\nmore", "index.md", ROOT, "")
    assert there == "text\n\n| a | b |\n| --- | ---: |\n| 1 \\| 2 | x |\n| 3 | y |\n\nmore"
    # With an address, or with a word or a live link in one cell, the column stays.
    assert "| code |" in site_links(head + rows, "index.md", ROOT, ADDRESS)
    for cell in ("[rtl](../hdl) or so", "[a](glossary.md)", "none"):
        text = site_links(f"{head}{rows}| 4 | {cell} | z |\n", "index.md", ROOT, "")
        assert "| code |" in text and "| rtl, c |" in text


@pytest.mark.thorough
def test_pages_link_sources_if_and_only_if_there_is_an_address(site: Path) -> None:
    linked = re.findall(r'href="[^"]+/launch_check\.py"', html_of(site, "index.md"))
    assert bool(linked) == bool(project_address(ROOT))


@pytest.mark.thorough
def test_with_an_address_links_and_head_lead_there(copy: Path, tmp_path: Path) -> None:
    set_address(copy)
    done = build(copy, tmp_path / "site")
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    page = html_of(tmp_path / "site", "index.md")
    assert f'href="{ADDRESS}/blob/main/hdl/warploom/launch/launch_check.py"' in page
    assert f'href="{ADDRESS}/tree/main/golden/warploom_golden/merging"' in page
    assert f'<a href="{ADDRESS}" ' in page


# --- the site as a whole ------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_site_loads_nothing_from_another_server(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(URIS)
    loaded = re.compile(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="((?:https?:)?//[^"]+)"')
    assert not {found for page in pages for found in loaded.findall(page.read_text())}
    style = "".join(path.read_text() for path in site.rglob("*.css"))
    assert not re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//", style)


@pytest.mark.thorough
def test_diagrams_are_drawn_by_the_sites_own_script(site: Path) -> None:
    with_diagram = [uri for uri in URIS if 'class="mermaid"' in html_of(site, uri)]
    assert {"index.md", "preemption/preemption.md"} <= {*with_diagram}
    for uri in URIS:
        script = re.search(r'src="([^"]*mermaid\.min\.js)"', html_of(site, uri))
        assert bool(script) == (uri in with_diagram)
        if script:
            folder = (site / uri).parent
            assert (folder / script[1]).resolve().stat().st_size > 10**6


@pytest.mark.thorough
def test_the_search_knows_the_pages_where_no_server_runs(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text()
    assert index.startswith("var __index = ") and "leftover policy" in index
    worker = "assets/javascripts/iframe-worker.js"
    assert (site / worker).is_file()
    assert f'src="{worker}"' in html_of(site, "index.md")


@pytest.mark.thorough
def test_what_is_wrong_with_a_page_stops_the_build(copy: Path, tmp_path: Path) -> None:
    wrong = ("nowhere.md", "sources.md#nothing", "unlisted.md")
    with (copy / "docs" / "glossary.md").open("a") as file:
        file.writelines(f"\n[a]({target})\n" for target in wrong[:2])
    (copy / "docs" / wrong[2]).write_text("# A page that the navigation does not name\n")
    done = build(copy, tmp_path / "site")
    assert done.returncode == 2
    assert done.stderr.count("WARNING") == len(wrong)
    assert all(name in done.stderr for name in wrong)
