"""How the lockstep harness's own tests run a case."""

import pytest

from tb.support.deep_values import thorough_but
from tb.support.stream_buffer import Emptied, full, overfull
from warploom_sim.cosim.lockstep import SIMULATORS, Case, LockstepError, run_one

EVENTS = {"full": full, "overfull": overfull, "emptied": Emptied}
#: By default on Amaranth's alone.
on_every_simulator = pytest.mark.parametrize("simulator", thorough_but(["amaranth"], SIMULATORS))


def failure_of(case: Case, simulator: str = "amaranth", waves: bool = True) -> LockstepError:
    """Run a case that must fail."""
    with pytest.raises(LockstepError) as caught:
        run_one(case, simulator, waves=waves)
    return caught.value
