"""The fields that a block's comment names are those that its RTL reads, no more and no less."""

import sys
from typing import Any

import pytest
from amaranth.back import rtlil

from tb.support.deep_values import thorough_but
from warploom_sim.variant import variant
from warploom_sim.verilog.blocks import BLOCKS, block, blocks_of
from warploom_sim.verilog.parameters import PARAMETERS, parameters
from warploom_spec import Config, timing

VARIANTS = {
    "tiny": (),
    "one_by_one": ("index_memory_warps=0",),
    "no_kill": ("sm_kill=False",),
    "others": ("policy=least_loaded", "reclaim=in_order"),
}


class WatchedConfig(Config):
    """A configuration that notes which of its fields are read."""

    def __post_init__(self) -> None:
        """Check the fields as ever, and begin to note."""
        super().__post_init__()
        object.__setattr__(self, "seen", set())

    def __getattribute__(self, name: str) -> Any:
        """Return an attribute, and note it."""
        if name in Config.__dataclass_fields__ and "seen" in vars(self):
            readers = [
                sys._getframe(1).f_globals["__name__"],
                sys._getframe(2).f_globals["__name__"],
            ]
            # `timing` reads what one latency depends on even if another is asked for.
            if timing.__module__ not in readers:
                vars(self)["seen"].add(name)
        return super().__getattribute__(name)


#: Blocks that are here in a variant, too.
VARYING = ("launch_check", "block_dispatcher")
CASES = [
    (name, key)
    for key, settings in VARIANTS.items()
    for name in blocks_of(variant("tiny", settings).config)
    # Large, and read by a register each, or made of blocks that are here.
    if key == "tiny" or name in VARYING
]


@pytest.mark.parametrize(
    ("name", "key"),
    thorough_but([case for case in CASES if case[0] not in ("front_end", "launch_path")], CASES),
)
def test_the_fields_named_are_those_that_are_read(name: str, key: str) -> None:
    """Every field that is read while the block is made and converted, and no other."""
    config = variant("tiny", VARIANTS[key]).config
    watched = WatchedConfig(**vars(config))
    rtlil.convert(block(name)(watched))
    assert sorted(parameters(name, config)) == sorted(vars(watched)["seen"])


def test_every_block_is_listed() -> None:
    """No block without its fields, no fields without a block."""
    assert list(PARAMETERS) == list(BLOCKS)
