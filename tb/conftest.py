"""What every test shares: the seed, many seeds, how Hypothesis draws, and the time it may take."""

import argparse
import gc
import os
import random
from collections.abc import Generator
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, settings

# A test that changes into a folder of its own builds there, and so do the processes that it starts.
os.environ["WARPLOOM_BUILD"] = "build"

# Loads `build_cache` before all else: sources that change from then on are other ones.
from tb.support import cpu_guard

IN_CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")
#: Continuous integration repeats itself; elsewhere each run looks somewhere new.
CI_SEED = 1

# A busy machine is slow: time says nothing about a model.
settings.register_profile(
    "dev", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True)
settings.load_profile("ci" if IN_CI else "dev")

#: Packages that hardware is made of.
HARDWARE = ("warploom", "warploom_spec", "simt_core", "simt_gpu")

SEED = pytest.StashKey[int]()


def _seed(text: str) -> int:
    """Read a seed; refuse what is none."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"--seed is {text!r}; legal: a number from 0 up")
    return int(text)


def _count(text: str) -> int:
    """Read how many seeds; refuse what is no count."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"--seeds is {text!r}; legal: a number from 1 up")
    return int(text)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the seed that an earlier run printed."""
    cpu_guard.add_option(parser)
    parser.addoption("--seed", type=_seed, metavar="N", help="seed of all random stimulus")
    parser.addoption(
        "--seeds",
        type=_count,
        metavar="N",
        help="run the tests with random stimulus alone, each with N seeds drawn from --seed",
    )


def pytest_collection_finish() -> None:
    """Collect garbage rarely: it took a sixth of the models' time, and found nothing.

    Tables in a pipe have any width, unless the environment bounds it: xdist's workers set it.
    """
    os.environ.pop("COLUMNS", None)
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed once, in the process that the workers get it from."""
    worker = getattr(config, "workerinput", None)
    given = worker["seed"] if worker else config.getoption("--seed")
    drawn = CI_SEED if IN_CI else random.SystemRandom().randrange(2**31)
    config.stash[SEED] = drawn if given is None else given
    cpu_guard.register(config)


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
def seed(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> int:
    """Return the run's seed, from which a test derives all that it draws.

    With ``--seeds`` one of the seeds that were drawn from it.
    """
    return getattr(request, "param", pytestconfig.stash[SEED])


@pytest.fixture
def monkeypatch(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let nothing that is kept by its files' sources answer once the hardware's is replaced."""
    replace = monkeypatch.setattr

    def setattr(target: object, *given: Any, **options: Any) -> None:
        where = target if isinstance(target, str) else getattr(target, "__module__", None)
        if str(where or target.__name__).partition(".")[0] in HARDWARE:
            replace("warploom_sim.build_cache.sources_as_loaded", False)
        replace(target, *given, **options)

    monkeypatch.setattr = setattr
    return monkeypatch


@pytest.fixture(autouse=True)
def hypothesis_seed(request: pytest.FixtureRequest) -> None:
    """Let Hypothesis draw a test's examples from one of the seeds of ``--seeds``."""
    if hasattr(request, "param"):
        hypothesis.seed(request.param)(request.function)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test with random stimulus once for each seed of ``--seeds``."""
    count = metafunc.config.getoption("--seeds")
    if not count:
        return
    rng = random.Random(metafunc.config.stash[SEED])
    seeds = [rng.randrange(2**31) for _ in range(count)]
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds, indirect=True, ids=str, scope="session")
    elif hypothesis.is_hypothesis_test(metafunc.function):
        metafunc.parametrize("hypothesis_seed", seeds, indirect=True, ids=str)


def _again(item: pytest.Item) -> str | None:
    """Return how one case of many seeds is run again; None if the test draws nothing."""
    callspec = getattr(item, "callspec", None)
    for name in ("seed", "hypothesis_seed"):
        if callspec and name in callspec.params:
            value = callspec.params[name]
            return f"again with: --{name.replace('_', '-')} {value} -k {item.originalname}"
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--seeds``, leave out what draws nothing: it would be the same with every seed."""
    if config.getoption("--seeds"):
        config.hook.pytest_deselected(items=[item for item in items if not _again(item)])
        items[:] = [item for item in items if _again(item)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Say with a failure of many seeds how to run its case again."""
    report = yield
    if report.failed and item.config.getoption("--seeds"):
        report.sections.append(("seed", str(_again(item))))
    return report
