"""A pytest plugin that adds the placement policy `last_fit` as CONTRIBUTING says, in memory.

``python -m pytest -p tb.support.toy_policy``, with `IN_REGISTRY`, loads it before any test module:
every list of the registry then has the policy from the beginning, as in a clone where the steps for
RTL, model and registry were done. In any other process the import changes nothing.
"""

import os
from pathlib import Path

from warploom.dispatch import policies as rtl
from warploom_golden.dispatch import policies as model
from warploom_spec import config

NAME = "last_fit"
ROOT = Path(__file__).parents[2]
FOLDERS = ROOT / "tb/dispatch/placement/toy"
_SWITCH = "WARPLOOM_TOY_POLICY"
_PACKAGES = (".", "spec", "hdl", "golden", "sim", "tools")
#: The environment of a process that has the policy.
IN_REGISTRY = os.environ | {
    _SWITCH: "1",
    "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in _PACKAGES),
}

if _SWITCH in os.environ and NAME not in config.POLICIES:
    config.POLICIES = (*config.POLICIES, NAME)
    rtl.__path__.append(str(FOLDERS / "rtl"))
    model.__path__.append(str(FOLDERS / "model"))
