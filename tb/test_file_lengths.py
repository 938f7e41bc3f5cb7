"""Files of code stay under 450 lines."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("spec", "hdl", "golden", "sim", "host", "tools", "examples", "tb")
SUFFIXES = (".py", ".c", ".h", ".cpp", ".sv")
MOST = 449
#: Files that are longer, each to be divided. None may join them.
LONGER = {
    "tb/sim/replay/test_replay.py",
    "tb/sim/sweep/test_compare_command.py",
    "tb/sim/traces/test_traces.py",
    "tb/test_packaging.py",
    "tb/tools/test_mutate.py",
}


def longer(root: Path) -> set[str]:
    """Return the files of code that have too many lines."""
    files = [file for folder in FOLDERS for file in (root / folder).rglob("*")]
    return {
        str(file.relative_to(root))
        for file in files
        if file.suffix in SUFFIXES and len(file.read_text().splitlines()) > MOST
    }


def test_no_other_file_of_code_is_longer() -> None:
    assert longer(ROOT) <= LONGER


def test_a_file_that_is_too_long_is_found(tmp_path: Path) -> None:
    (tmp_path / "sim").mkdir()
    (tmp_path / "sim" / "long.py").write_text("\n" * (MOST + 1))
    (tmp_path / "sim" / "short.py").write_text("\n" * MOST)
    assert longer(tmp_path) == {"sim/long.py"}
