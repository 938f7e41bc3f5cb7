"""What MkDocs calls while it builds the site: ``mkdocs.yml`` names this file."""

from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

from warploom_dev.address import project_address
from warploom_dev.site.dialect import for_python_markdown
from warploom_dev.site.links import OUTSIDE, site_links

ROOT: Final = Path(__file__).parents[3]
#: Draws the diagrams; from the site itself, where Material would load it from another server.
MERMAID: Final = "assets/javascripts/mermaid.min.js"
#: Lets the search run where the pages are opened as files; Material's name for such a script.
WORKER: Final = "assets/javascripts/iframe-worker.js"
STYLE: Final = "assets/stylesheets/site.css"


def on_config(config: Any) -> Any:
    """Name the forge in the head of each page once the project has an address."""
    config.repo_url = project_address(ROOT) or None
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that stand outside ``docs/``, the two scripts and the style."""
    added = {there: ROOT / path for path, there in OUTSIDE.items()}
    added[MERMAID] = Path(str(distribution("mermaidx").locate_file("mermaidx/assets/mermaid.js")))
    for own in (WORKER, STYLE):
        added[own] = Path(__file__).with_name(Path(own).name)
    for there, path in added.items():
        files.append(File.generated(config, there, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lead the links somewhere, and set the lists as Python-Markdown reads them."""
    linked = site_links(markdown, page.file.src_uri, ROOT, project_address(ROOT))
    return for_python_markdown(linked)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Load the script of 3 MB on pages with a diagram alone."""
    if 'class="mermaid"' not in output:
        return output
    script = f'<script src="{get_relative_url(MERMAID, page.url)}"></script>'
    return output.replace("</head>", f"{script}</head>", 1)
