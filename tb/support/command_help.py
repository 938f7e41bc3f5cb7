"""What a command's ``--help`` must say, for every command of a group."""

import re

import click
from click.testing import CliRunner


def command_paths(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the words of every command of a group, its subgroups and itself included."""
    below = command.commands.items() if isinstance(command, click.Group) else ()
    return [path, *(p for name, sub in below for p in command_paths(sub, (*path, name)))]


def _help(main: click.Command, path: tuple[str, ...]) -> str:
    result = CliRunner().invoke(main, [*path, "--help"])
    assert result.exit_code == 0
    return result.output


def has_examples(main: click.Command, path: tuple[str, ...], program: str) -> bool:
    """Return whether a command's help has examples that call the program by its name."""
    return bool(re.search(rf"Examples?:\n  +{program} ", _help(main, path)))


def exit_codes(main: click.Command, path: tuple[str, ...]) -> set[int]:
    """Return the exit codes that a command's help names."""
    said = re.search(r"The exit code is (.*?)\.\n", _help(main, path), re.DOTALL)
    assert said
    return {int(code) for code in re.findall(r"\b[0-3]\b", said[1])}
