"""The simulated core of the drivers' page: commands and programs, as a reader types them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from warploom_sim.verilog.register_map import c_header
from warploom_spec import preset

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "host" / "drivers.md").read_text()
SECTION = PAGE.partition("## On the simulated core\n")[2].partition("\n## ")[0]


def commands() -> list[str]:
    """Return the section's commands, each on one line."""
    text = SECTION.replace("\\\n", " ")
    found = re.findall(r"^    ((?:export|warploom|verilator|gcc|\./mine)\b.*)$", text, re.MULTILINE)
    return [" ".join(command.split()) for command in found]


def blocks(language: str, text: str) -> list[str]:
    """Return the programs of a language in a part of the page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_program_in_c_compiles(tmp_path: Path) -> None:
    (program,) = blocks("c", SECTION)
    (tmp_path / "mine.c").write_text(program)
    (tmp_path / "warploom_host.h").write_text(c_header(preset("tiny"), "tiny"))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{ROOT / 'host' / 'c'}"]
    command = ["gcc", *flags, "-I.", "-c", "mine.c", str(ROOT / "host" / "c" / "example_streams.c")]
    subprocess.run(command, cwd=tmp_path, check=True)


def test_the_python_programs_are_whole() -> None:
    (accesses,) = blocks("python", SECTION)
    for text in (accesses, *blocks("python", PAGE.partition("## In Python\n")[2])):
        compile(text, "drivers.md", "exec")


def run(command: list[str], folder: Path, **more: str) -> str:
    """Return what a command prints, with no setting of ours but those given."""
    bare = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        command,
        cwd=folder,
        env=bare | more,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.deep
def test_the_commands_and_the_programs_run(tmp_path: Path) -> None:
    for name, target in ((".venv", Path(sys.prefix)), ("host", ROOT / "host")):
        (tmp_path / name).symlink_to(target)
    (program,) = blocks("c", SECTION)
    (tmp_path / "mine.c").write_text(program)
    chosen = commands()
    starts = [command.split()[0] for command in chosen]
    assert starts == [*["export"] * 2, *["warploom"] * 2, "verilator", "gcc", "./mine"]
    printed = run(["bash", "-ec", "\n".join(chosen)], tmp_path)
    assert printed.endswith("\ncode 0\n")
    shown = run(["./mine"], tmp_path, SHOW_BLOCKS="1")
    (said,) = re.findall(r"^((?:    \d+: SM .*\n)+)", SECTION, re.MULTILINE)
    assert shown.startswith(re.sub(r"^    ", "", said, flags=re.MULTILINE))
    (accesses,) = blocks("python", SECTION)
    alone, event = blocks("python", PAGE.partition("## In Python\n")[2])
    text = "\n".join((accesses, alone.replace('"default"', '"tiny"'), event))
    records = run([sys.executable, "-c", text], tmp_path)
    assert re.findall(r"ticket=(\d+), fate=(\d+)", records) == [("1", "0"), ("2", "0"), ("3", "0")]
    # The last one, in stream 1, begins after the one before has ended.
    made = [int(cycle) for cycle in re.findall(r"made=(\d+)", records)]
    first = [int(cycle) for cycle in re.findall(r"first_offer=(\d+)", records)]
    assert made[1] < first[2]
