"""What every test shares: the seed, and how Hypothesis draws."""

import argparse
import os
import random

import pytest
from hypothesis import HealthCheck, settings

IN_CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")
#: Continuous integration repeats itself; elsewhere each run looks somewhere new.
CI_SEED = 1

# A busy machine is slow: time says nothing about a model.
settings.register_profile(
    "dev", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True)
settings.load_profile("ci" if IN_CI else "dev")

SEED = pytest.StashKey[int]()


def _seed(text: str) -> int:
    """Read a seed; refuse what is none."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"--seed is {text!r}; legal: a number from 0 up")
    return int(text)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the seed that an earlier run printed."""
    parser.addoption("--seed", type=_seed, metavar="N", help="seed of all random stimulus")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed once, in the process that the workers get it from."""
    worker = getattr(config, "workerinput", None)
    given = worker["seed"] if worker else config.getoption("--seed")
    drawn = CI_SEED if IN_CI else random.SystemRandom().randrange(2**31)
    config.stash[SEED] = drawn if given is None else given


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Hand the seed to a worker."""
    node.workerinput["seed"] = node.config.stash[SEED]


def _seed_line(config: pytest.Config) -> str:
    return f"seed: {config.stash[SEED]} (again with: --seed {config.stash[SEED]})"


def pytest_report_header(config: pytest.Config) -> str:
    """Say the seed before the tests."""
    return _seed_line(config)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Say the seed again where failures are listed."""
    if exitstatus:
        terminalreporter.write_line(_seed_line(config))


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """Return the run's seed, from which a test derives all that it draws."""
    return pytestconfig.stash[SEED]
