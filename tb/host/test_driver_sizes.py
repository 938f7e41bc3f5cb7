"""The drivers of a core with more SMs than a register has bits, and with several inline words."""

import functools

import pytest

from tb.host.driver_hosts import c_host, python_host
from tb.host.test_driver_accesses import DOORBELL, NOTHING, RANGE, made
from tb.support.dispatch_configs import config_of

WIDE = config_of("tiny,sms=40,inline_args=3")
ARGUMENTS = (0x1111111122222222, 0x3333333344444444, 0x5555555566666666)
in_python = functools.partial(python_host, config=WIDE)


@functools.cache
def in_c(source=None):
    """Return what makes the C driver; ``source`` stands in for ``warploom.c``."""
    return c_host(source, WIDE)


def demand_masks_in_c(host):
    """Hold that each word of SM_ENABLE takes its SMs: 32, and 8."""
    for word, sms in ((0, 0xFFFFFFFF), (0, 0x80000001), (1, 0xFF), (1, 0xA5)):
        script = [("write", 0x80 + 4 * word, sms)]
        assert made(host, "enable_sms", script, sms, word) == 0
    for word, sms in ((1, 0x100), (1, 0x80000000), (2, 0), (2, 1)):
        assert made(host, "enable_sms", [], sms, word) == RANGE


def demand_masks_in_python(host):
    """Hold that a mask is two words, and that SM 40 is refused."""
    for mask in (0xA5_80000001, 0xFF_FFFFFFFF, 0x80_00000000, 0):
        script = [("write", 0x80, mask % (1 << 32)), ("write", 0x84, mask >> 32)]
        assert made(host, "enable_sms", script, mask) == 0
    assert made(host, "enable_sms", [], 1 << 40) == RANGE


def demand_inline_words(host):
    """Hold that inline argument n stands in T12 + 2 n, and its high word behind it."""
    words = {0: 2, 12: 0x22222222, 13: 0x11111111, 14: 0x44444444, 15: 0x33333333}
    words |= {16: 0x66666666, 17: 0x55555555}
    writes = [("write", 0x1080 + 4 * n, words.get(n, 0)) for n in range(18)]
    script = [("read", DOORBELL, 0), *writes, ("write", DOORBELL, 1)]
    script += [("read", DOORBELL + offset, 0) for offset in (0, 0x0C, 0x10, 0x04, 0x08, 0x14)]
    assert made(host, "launch", script, 0, **NOTHING, inline=ARGUMENTS) == (0, 0)


def test_the_c_driver_enables_the_sms_of_each_word():
    demand_masks_in_c(in_c())


def test_the_python_driver_enables_the_sms_of_both_words():
    demand_masks_in_python(in_python)


@pytest.mark.parametrize("host", [in_c(), in_python], ids=["c", "python"])
def test_each_inline_argument_is_two_words(host):
    demand_inline_words(host)
