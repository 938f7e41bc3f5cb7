"""A replay on `tiny` and Icarus, in this process."""

from pathlib import Path

from click.testing import CliRunner

from warploom_sim import cli


def sim(trace: Path, *arguments: str) -> tuple[int, str, str]:
    """Replay on `tiny` and Icarus; return the exit code and what was said."""
    words = ["sim", str(trace), "--sim", "icarus", "--config", "tiny", *arguments]
    result = CliRunner().invoke(cli.main, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr
