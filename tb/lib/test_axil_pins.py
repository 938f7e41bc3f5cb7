"""AxilPins: AXI's own names for the five channels, bit by bit; all other ports as they are."""

import random

import pytest
from amaranth.hdl import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from tb.support.planted import Change, plant
from warploom.host.bus_port import axil_signature
from warploom.lib import axil_pins
from warploom.lib.axil_pins import AxilPins
from warploom_sim.cosim.lockstep.ports import Ports
from warploom_spec import preset

#: What a host drives: name of the pin, bits; and what the core drives.
FROM_HOST = {
    "awaddr": 16,
    "awprot": 3,
    "awvalid": 1,
    "wdata": 32,
    "wstrb": 4,
    "wvalid": 1,
    "bready": 1,
    "araddr": 16,
    "arprot": 3,
    "arvalid": 1,
    "rready": 1,
}
FROM_CORE = {
    "awready": 1,
    "wready": 1,
    "bresp": 2,
    "bvalid": 1,
    "arready": 1,
    "rdata": 32,
    "rresp": 2,
    "rvalid": 1,
}


class Mirror(wiring.Component):
    """Shows all that comes over the channels in one word, and sends another word's bits."""

    def __init__(self):
        super().__init__(
            {
                "axil": In(axil_signature(preset("tiny"))),
                "seen": Out(sum(FROM_HOST.values())),
                "sent": In(sum(FROM_CORE.values())),
                "level": In(5),
                "echo": Out(5),
                "pair": Out(stream.Signature(8)).array(2),
                "back": In(stream.Signature(8)).array(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bus = self.axil
        m.d.comb += self.seen.eq(
            Cat(
                bus.aw.payload.addr,
                bus.aw.payload.prot,
                bus.aw.valid,
                bus.w.payload.data,
                bus.w.payload.strb,
                bus.w.valid,
                bus.b.ready,
                bus.ar.payload.addr,
                bus.ar.payload.prot,
                bus.ar.valid,
                bus.r.ready,
            )
        )
        m.d.comb += Cat(
            bus.aw.ready,
            bus.w.ready,
            bus.b.payload,
            bus.b.valid,
            bus.ar.ready,
            bus.r.payload.data,
            bus.r.payload.resp,
            bus.r.valid,
        ).eq(self.sent)
        m.d.comb += self.echo.eq(self.level)
        for k in range(2):
            # The first pair goes to the second: a mixed-up array would show.
            wiring.connect(m, wiring.flipped(self.back[k]), wiring.flipped(self.pair[1 - k]))
        return m


def split(word, widths):
    """Return a word's parts by their names, the first one lowest."""
    found = {}
    for name, bits in widths.items():
        found[name] = word & ((1 << bits) - 1)
        word >>= bits
    return found


def joined(values, widths):
    word, low = 0, 0
    for name, bits in widths.items():
        word |= values[name] << low
        low += bits
    return word


def mirror_differences(rng, rounds=200):
    """Drive every pin with random bits; return the names of what arrives otherwise."""
    pins = AxilPins(Mirror())
    wrong = set()

    async def bench(ctx):
        for _ in range(rounds):
            host = {name: rng.getrandbits(bits) for name, bits in FROM_HOST.items()}
            core = {name: rng.getrandbits(bits) for name, bits in FROM_CORE.items()}
            for name, value in host.items():
                ctx.set(getattr(pins, f"s_axil_{name}"), value)
            level, items = rng.getrandbits(5), [rng.getrandbits(8) for _ in range(2)]
            ctx.set(pins.sent, joined(core, FROM_CORE))
            ctx.set(pins.level, level)
            for k, item in enumerate(items):
                ctx.set(pins.back[k].payload, item)
                ctx.set(pins.back[k].valid, item & 1)
                ctx.set(pins.pair[k].ready, item >> 1 & 1)
            await ctx.delay(1e-6)
            seen = split(ctx.get(pins.seen), FROM_HOST)
            wrong.update(name for name in FROM_HOST if seen[name] != host[name])
            wrong.update(
                name for name in FROM_CORE if ctx.get(getattr(pins, f"s_axil_{name}")) != core[name]
            )
            if ctx.get(pins.echo) != level:
                wrong.add("echo")
            for k, item in enumerate(items):
                pair, back = pins.pair[1 - k], pins.back[1 - k]
                if (ctx.get(pair.payload), ctx.get(pair.valid)) != (item, item & 1):
                    wrong.add(f"pair {k}")
                if ctx.get(back.ready) != item >> 1 & 1:
                    wrong.add(f"back {k}")

    simulator = Simulator(pins)
    simulator.add_testbench(bench)
    simulator.run()
    return wrong


def test_pins_have_axi_s_names_widths_and_directions():
    ports = Ports.of(AxilPins(Mirror()))
    pins = {n: len(v) for n, v in ports.inputs.items() if n.startswith("s_axil_")}
    assert pins == {f"s_axil_{name}": bits for name, bits in FROM_HOST.items()}
    pins = {n: len(v) for n, v in ports.outputs.items() if n.startswith("s_axil_")}
    assert pins == {f"s_axil_{name}": bits for name, bits in FROM_CORE.items()}


def test_the_other_ports_are_the_core_s():
    inside, outside = Ports.of(Mirror()), Ports.of(AxilPins(Mirror()))
    for side in ("inputs", "outputs"):
        own = {n: len(v) for n, v in getattr(inside, side).items() if not n.startswith("axil__")}
        wrapped = getattr(outside, side).items()
        assert own == {n: len(v) for n, v in wrapped if not n.startswith("s_axil_")}


def test_every_bit_of_every_pin_reaches_its_place(seed):
    assert mirror_differences(random.Random(seed)) == set()


WRONG = {
    "addresses are not connected": (
        Change(AxilPins, "elaborate", "inside.eq(pin) if inward", "inside.eq(0) if inward"),
        {name for name in FROM_HOST if not name.endswith("ready")},
    ),
    "responses are not connected": (
        Change(AxilPins, "elaborate", "else pin.eq(inside)", "else pin.eq(0)"),
        {"bresp", "bvalid", "rdata", "rresp", "rvalid"},
    ),
    "every part of an array is connected to the first": (
        Change(axil_pins, "hand_through", "zip(outer, inner,", "zip(outer, [inner[0]] * 2,"),
        {"pair 0", "pair 1", "back 0", "back 1"},
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_wire_is_found(name, seed, monkeypatch):
    change, found = WRONG[name]
    plant(monkeypatch, [change])
    assert mirror_differences(random.Random(seed)) == found
