"""A replay on `tiny` and Icarus, in this process."""

from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner

from warploom_sim import cli, screen


def sim(trace: Path, *arguments: str) -> tuple[int, str, str]:
    """Replay on `tiny` and Icarus; return the exit code and what was said.

    Progress is not looked at: on a slow machine its lines would stand between the others.
    """
    words = ["sim", str(trace), "--sim", "icarus", "--config", "tiny", *arguments]
    with patch.object(screen, "LOOK_S", 3600.0):
        result = CliRunner().invoke(cli.main, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr
