"""LaunchCheck's verdict on a launch."""

from warploom_golden.launch.launch_check import refusals
from warploom_spec import Config, ErrorCode, LaunchDescriptor


def judge(launch: LaunchDescriptor, config: Config, tables: int = 0) -> tuple[int, int]:
    """Return LaunchCheck's error code and its argument, (0, 0) for a launch that passes."""
    return next(refusals(launch.values(config), tables, config), (ErrorCode.OK, 0))
