"""The programs of the drivers' page that loop in hardware, on a stub of the registers."""

import ctypes

from simt_host.c_calls import Launch
from tb.host.c_driver import HOST
from tb.host.driver_tours import kernel
from tb.host.loop_hosts import LOOPING, c_loops
from tb.host.loop_stub import LoopStub

PAGE = HOST.parents[1] / "docs" / "host" / "drivers.md"


def run(program, *arguments):
    """Return what a program of the example launches."""
    stub = LoopStub(LOOPING, 100)
    driver = c_loops(stub)
    assert driver.begin() == 0
    function = getattr(driver._library, program)
    assert driver.call_on_core(function, driver._owner, *arguments) == 0
    # The last section loops, and the slots are free again.
    assert {section for section, _, _ in stub.launches} == {1}
    assert driver.take_slots(8) == (0, 0)
    return stub.launches


def arguments_of(words):
    return words[3] | words[4] << 32


def test_the_page_shows_the_example():
    blocks = PAGE.read_text().split("```c\n")
    (block,) = (one.split("```")[0] for one in blocks if "run_array" in one)
    assert block.rstrip() in (HOST / "example_loops.c").read_text()


def test_a_loop_over_a_pointer_and_a_grid():
    launch = Launch(**kernel(3, arguments=0xFFFF_F000))
    seen = [
        (arguments_of(words), words[6]) for _, words, _ in run("run_array", ctypes.byref(launch))
    ]
    assert seen == [(0xFFFF_F000 + 4096 * i, 3 + 2 * i) for i in range(1000)]


def test_a_loop_over_two_streams_with_an_event_in_each_iteration():
    fill, reduce = (Launch(**kernel(stream=n, arguments=0x1000)) for n in (1, 2))
    other = ctypes.c_uint64(0x2000)
    seen = run("run_two_buffers", ctypes.byref(fill), ctypes.byref(reduce), other)
    assert len(seen) == 1000
    for i in range(500):
        (_, writer, before), (_, reader, awaited) = seen[2 * i : 2 * i + 2]
        assert arguments_of(writer) == arguments_of(reader) == (0x2000 if i % 2 else 0x1000)
        # The reader waits for its writer, the writer for the reader of the same buffer.
        assert awaited == [(1, i + 1)] and before == [(2, i - 1)]
