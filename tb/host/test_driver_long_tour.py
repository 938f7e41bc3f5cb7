"""A tour past 2^16 launches of one stream: the port's counts have 16 bits, no order is lost."""

import pytest

from tb.host.stream_stub import StreamStub
from tb.host.test_driver_accesses import NOTHING
from tb.host.test_driver_events import c_host, python_host

#: The stream with so many launches, and the one that waits for some of them.
LONG, WAITS = 1, 2
LAUNCHES = (1 << 16) + 3
#: Before so many launches of the long stream: up to which launches an event has them.
EVENTS = {
    **{at: [at] for at in (1, 32_767, 65_535, 65_536, 65_537)},
    # 2^15 behind and more: reached.
    32_768: [1],
    32_769: [1, 2],
    # Of two events the later one counts, in whatever order they come.
    65_538: [65_535, 65_538],
    LAUNCHES: [65_536, 65_535],
}
#: By launch of the waiting stream: the launch that it waits for.
AWAITED = {1: 1, 2: 32_767, 3: 1, 4: 2, 5: 65_535, 6: 65_536, 7: 65_537, 8: 65_538, 9: 65_536}


@pytest.mark.parametrize("leaps", [True, pytest.param(False, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("host", [c_host(), python_host], ids=["c", "python"])
def test_no_order_is_lost_past_2_to_the_16_launches_of_a_stream(host, leaps):
    """With leaps the core has accepted launches in between whose answers nobody read."""
    core = StreamStub()
    driver = host(core)
    driver.begin()
    at = {}
    for number in range(1, LAUNCHES + 1):
        if leaps and number > 2 and not {number - 1, number, number + 1} & {*EVENTS}:
            core.accepted[LONG] += 1
            continue
        assert driver.launch(0, **NOTHING | {"stream": LONG}) == (0, core.accepted.total())
        assert driver.take_record()[0] == 0
        if number < 3 or number in EVENTS:
            at[number] = driver.event_record(LONG)
        if number in EVENTS:
            for one in EVENTS[number]:
                assert driver.stream_wait(WAITS, at[one]) == 0
            assert driver.launch(0, **NOTHING | {"stream": WAITS})[0] == 0
            assert driver.take_record()[0] == 0
    assert core.accepted == {LONG: LAUNCHES, WAITS: len(EVENTS)}
    assert core.awaited == {(WAITS, n): [(LONG, one)] for n, one in AWAITED.items()}
