"""Processor time of each default test; one that takes too much is named at the end of the run.

A test's time is its own and that of its child processes. What many tests share does not count:
fixtures of a module or of the session, builds that are kept, and what Numba compiles.
"""

import json
import resource
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

#: Seconds of processor time that a default test may take.
MOST: Final = 5.0
#: Tests that may take more, each with its reason.
LIST: Final = Path(__file__).with_name("slow_tests.json")
#: Marks of tests that are left out by default.
LEFT_OUT: Final = ("thorough", "deep", "fpga")
#: The module that keeps builds. A project without all of its files cannot import it.
BUILDS: Final = "warploom_sim.build_cache"
_PROPERTY: Final = "processor seconds"


def add_option(parser: pytest.Parser) -> None:
    """Add the option with which a slow test fails the run."""
    parser.addoption(
        "--slow-fails",
        action="store_true",
        help=f"fail if a default test takes more than {MOST:g} s of processor time, and is not in"
        f" {LIST.name}",
    )


def _used() -> float:
    """Return the processor time of this process and its ended children."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    spent = [resource.getrusage(kind) for kind in kinds]
    return sum(one.ru_utime + one.ru_stime for one in spent)


def _name(item: pytest.Item) -> str:
    """Return a test's file and function, without its values."""
    return f"{item.location[0]}::{getattr(item, 'originalname', item.name)}"


class CpuGuard:
    """Plugin that measures in each process, and judges where the reports arrive.

    Parameters
    ----------
    fails : bool
        A slow test that is not listed fails the run.
    listed : dict
        Reason for each test, as ``file::function``, that may be slow.
    """

    def __init__(self, fails: bool, listed: dict[str, str]) -> None:
        self._fails = fails
        self._listed = listed
        self._start = self._shared = 0.0
        self._sharing = 0
        self._watches: set[str] = set()
        self._slow: dict[str, tuple[str, float]] = {}

    def _begin(self) -> None:
        """What follows is shared, until as many calls of `_end` came."""
        if not self._sharing:
            self._shared -= _used()
        self._sharing += 1

    def _end(self) -> None:
        self._sharing -= 1
        if not self._sharing:
            self._shared += _used()

    @contextmanager
    def _not_counted(self) -> Iterator[None]:
        self._begin()
        try:
            yield
        finally:
            self._end()

    def _imported(self, name: str) -> bool:
        """Say once that somebody has imported a module."""
        if name in self._watches or name not in sys.modules:
            return False
        self._watches.add(name)
        return True

    def _watch_builds(self) -> None:
        """Leave out the builds that are kept."""
        if self._imported(BUILDS):
            builds = sys.modules[BUILDS]
            builds._make = self.shared(builds._make)

    def _watch_numba(self) -> None:
        """Leave out what Numba compiles."""
        if not self._imported("numba"):
            return
        from numba.core import event

        class Compiling(event.Listener):
            on_start = staticmethod(lambda _: self._begin())
            on_end = staticmethod(lambda _: self._end())

        event.register("numba:compile", Compiling())

    def shared(self, make: Callable[..., None]) -> Callable[..., None]:
        """Return a function whose time is no test's."""

        def made(*arguments: Any) -> None:
            with self._not_counted():
                make(*arguments)

        return made

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        """Begin to count."""
        self._watch_builds()
        self._watch_numba()
        self._start, self._shared = _used(), 0.0
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Leave out what tests share."""
        if fixturedef.scope == "function":
            return (yield)
        with self._not_counted():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, Any, Any]:
        """Write into a slow test's report what it took."""
        report = yield
        took = _used() - self._start - self._shared
        default = not any(item.get_closest_marker(mark) for mark in LEFT_OUT)
        if call.when == "call" and default and took > MOST:
            report.user_properties.append((_PROPERTY, [_name(item), took]))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a slow test, of whatever process."""
        if report.when == "call":
            for key, value in report.user_properties:
                if key == _PROPERTY:
                    self._slow[report.nodeid] = tuple(value)

    def _unlisted(self) -> bool:
        return any(name not in self._listed for name, _ in self._slow.values())

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run for a slow test without a reason."""
        if self._fails and self._unlisted() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the slow tests, the slowest first."""
        if not self._slow:
            return
        terminalreporter.section(f"default tests of more than {MOST:g} s of processor time")
        for nodeid, (name, took) in sorted(self._slow.items(), key=lambda one: -one[1][1]):
            reason = self._listed.get(name, f"not in {LIST.name}")
            terminalreporter.write_line(f"{took:6.1f} s  {nodeid}: {reason}")
        if self._fails and self._unlisted():
            terminalreporter.write_line(
                f"FAILED: make them shorter, mark them as thorough, or give {LIST.name} a reason"
            )


def register(config: pytest.Config) -> None:
    """Measure from now on."""
    listed = json.loads(LIST.read_text())
    worker = hasattr(config, "workerinput")
    guard = CpuGuard(config.getoption("--slow-fails") and not worker, listed)
    config.pluginmanager.register(guard, "cpu guard")
