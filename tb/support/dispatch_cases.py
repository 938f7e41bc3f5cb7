"""Cases of the lockstep tests of LaunchPath and its parts."""

from dataclasses import replace

from tb.support import dispatch_configs
from tb.support.dispatch_configs import config_of, observers, soon
from tb.support.dispatch_events import LATE_NUMBER, LATE_TICKET
from tb.support.dispatch_stimulus import DispatcherHost
from tb.support.path_stimulus import PathHost
from warploom.dispatch import BlockDispatcher, GridWalker
from warploom.launch import LaunchCheck, LaunchPath
from warploom_golden.dispatch import BlockDispatcher as BlockDispatcherModel
from warploom_golden.dispatch import GridWalker as GridWalkerModel
from warploom_golden.launch import LaunchCheck as LaunchCheckModel
from warploom_golden.launch import LaunchPath as LaunchPathModel
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


def make_path(
    config: str, *, first_ticket: int = 1, first_number: int = 0
) -> tuple[LaunchPath, LaunchPathModel]:
    """Make a LaunchPath and its model."""
    return (
        LaunchPath(config_of(config), first_ticket=first_ticket, first_number=first_number),
        LaunchPathModel(config_of(config), first_ticket=first_ticket, first_number=first_number),
    )


def _surrounded(profile: str, config: str, seed: int, cycles: int, path: bool) -> Case:
    """Return a case; where SMs fall silent that is found soon, and resets bring them back."""
    loses_sms = profile in ("sm_loss", "kill_bursts", "dual_kill", "frequent_sm_loss")
    if loses_sms and "kill_timeout" not in config:
        config = soon(config)
    return Case(
        make=make_path if path else make_dispatcher,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        resets=8 if loses_sms else 2,
        stimulus=PathHost if path else DispatcherHost,
        options={"profile": profile},
        events=observers(config, path),
    )


def late(case: Case) -> Case:
    """Return a case of LaunchPath whose first ticket and block number are late ones."""
    ledger = f"{dispatch_configs.__name__}:LATE_PATH_LEDGERS.{case.params['config']}"
    params = {**case.params, "first_ticket": LATE_TICKET, "first_number": LATE_NUMBER}
    return replace(case, params=params, events={**case.events, "ledger": ledger})


def dispatcher_case(config: str, profile: str, seed: int, cycles: int = 4000) -> Case:
    """Return a case of BlockDispatcher with a profile of `tb.support.sm_behaviour`.

    Each launch's first block has `LATE_NUMBER`.
    """
    case = _surrounded(profile, config, seed, cycles, path=False)
    ledger = f"{dispatch_configs.__name__}:LATE_LEDGERS.{case.params['config']}"
    params = {**case.params, "first_number": LATE_NUMBER}
    return replace(case, params=params, events={**case.events, "ledger": ledger})


def path_case(config: str, profile: str, seed: int, cycles: int = 4000) -> Case:
    """Return a case of LaunchPath with a profile of `tb.support.sm_behaviour`."""
    return _surrounded(profile, config, seed, cycles, path=True)
