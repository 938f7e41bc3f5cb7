"""Cases of the lockstep tests of LaunchCheck and GridWalker."""

from tb.support.dispatch_configs import config_of
from warploom.dispatch import GridWalker
from warploom.launch import LaunchCheck
from warploom_golden.dispatch import GridWalker as GridWalkerModel
from warploom_golden.launch import LaunchCheck as LaunchCheckModel


def make_check(config: str) -> tuple[LaunchCheck, LaunchCheckModel]:
    """Make a LaunchCheck and its model."""
    return LaunchCheck(config_of(config)), LaunchCheckModel(config_of(config))


def make_walker(config: str, *, first_number: int = 0) -> tuple[GridWalker, GridWalkerModel]:
    """Make a GridWalker and its model."""
    return (
        GridWalker(config_of(config), first_number=first_number),
        GridWalkerModel(config_of(config), first_number=first_number),
    )
