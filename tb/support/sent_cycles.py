"""When the event model's source sends launches: no event says it to the cycle."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from warploom_golden.replay.residents.launches import SentLaunch
from warploom_golden.replay.residents.path import ResidentPath


@contextmanager
def noted() -> Iterator[list[int]]:
    """Let each cycle in which a launch is sent be appended to what this yields."""
    cycles: list[int] = []
    send = ResidentPath.send

    def noting(path: ResidentPath, launch: SentLaunch) -> None:
        cycles.append(path.cycle)
        send(path, launch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ResidentPath, "send", noting)
        yield cycles
