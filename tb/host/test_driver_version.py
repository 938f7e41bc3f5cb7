"""Drivers of another version of the register map, and what both drivers tell their users."""

import re
from pathlib import Path

import pytest

from tb.host.driver_hosts import TINY, c_host
from tb.host.scripted_bus import ScriptedBus
from warploom_host import HostDriver, driver
from warploom_sim.verilog.register_map import c_header
from warploom_spec import WarploomError

ROOT = Path(__file__).parents[2]
OTHER_MAP = -3
#: A core of version 3.1: a driver for another one reads no further.
CORE = [("read", 0x000, 0x57415250), ("read", 0x004, 0x00030001)]


def test_the_c_driver_of_version_2_stops_at_version():
    header = c_header(TINY, "bench")
    assert header.count("0x00030001") == 1
    bus = ScriptedBus(list(CORE))
    old = c_host(header=header.replace("0x00030001", "0x00020000"))
    assert old(bus, 1000).identify() == OTHER_MAP
    bus.demand_over()


def test_the_python_driver_of_version_2_stops_at_version_and_says_what_to_do(monkeypatch):
    monkeypatch.setattr(driver, "MAP_VERSION", 0x0002_0000)
    bus = ScriptedBus(list(CORE))
    message = "VERSION reads 3.1; legal for this driver: 2.x (it is for 2.0): take the driver of"
    with pytest.raises(WarploomError, match=re.escape(message)):
        HostDriver(bus.read32, bus.write32, TINY).identify()
    bus.demand_over()


#: What a user must know, as words that stand in both drivers' comments.
TOLD = (
    "launches of one stream run one after the other",
    "an urgent launch that never ends starves every launch of a lower priority",
    "persistent kernels belong to the lowest priority",
    "has begun stops every priority until its last block is placed",
    "blocks that wait for each other belong to mode wait",
    "can come before those of earlier launches of its stream",
    "killed, and then aborted while it waited, has cycles and first_offer 0",
    "sms that are only disabled do not count",
)


@pytest.mark.parametrize("file", ["c/warploom.h", "python/warploom_host/__init__.py"])
@pytest.mark.parametrize("words", TOLD)
def test_both_drivers_tell_their_users(file, words):
    text = (ROOT / "host" / file).read_text().lower()
    plain = " ".join(text.replace("\n *", "\n").split())
    assert words in plain
