"""Cases of the lockstep tests of LaunchCheck, GridWalker and BlockDispatcher."""

from tb.support.dispatch_configs import config_of, observers, soon
from tb.support.dispatch_events import LATE_NUMBER
from tb.support.dispatch_stimulus import DispatcherHost
from warploom.dispatch import BlockDispatcher, GridWalker
from warploom.launch import LaunchCheck
from warploom_golden.dispatch import BlockDispatcher as BlockDispatcherModel
from warploom_golden.dispatch import GridWalker as GridWalkerModel
from warploom_golden.launch import LaunchCheck as LaunchCheckModel
from warploom_sim.cosim.lockstep import Case


def make_check(config: str) -> tuple[LaunchCheck, LaunchCheckModel]:
    """Make a LaunchCheck and its model."""
    return LaunchCheck(config_of(config)), LaunchCheckModel(config_of(config))


def make_walker(config: str, *, first_number: int = 0) -> tuple[GridWalker, GridWalkerModel]:
    """Make a GridWalker and its model."""
    return (
        GridWalker(config_of(config), first_number=first_number),
        GridWalkerModel(config_of(config), first_number=first_number),
    )


def make_dispatcher(
    config: str, *, first_number: int = 0
) -> tuple[BlockDispatcher, BlockDispatcherModel]:
    """Make a BlockDispatcher and its model."""
    return (
        BlockDispatcher(config_of(config), first_number=first_number),
        BlockDispatcherModel(config_of(config), first_number=first_number),
    )


def dispatcher_case(config: str, profile: str, seed: int, cycles: int = 4000) -> Case:
    """Return a case of BlockDispatcher with a profile of `tb.support.sm_behaviour`.

    Each launch's first block has `LATE_NUMBER`. Where SMs fall silent that is found soon, and
    resets bring them back.
    """
    loses_sms = profile in ("sm_loss", "kill_bursts", "dual_kill", "frequent_sm_loss")
    if loses_sms and "kill_timeout" not in config:
        config = soon(config)
    return Case(
        make=make_dispatcher,
        params={"config": config, "first_number": LATE_NUMBER},
        seed=seed,
        cycles=cycles,
        resets=8 if loses_sms else 2,
        stimulus=DispatcherHost,
        options={"profile": profile},
        events=observers(config),
    )
