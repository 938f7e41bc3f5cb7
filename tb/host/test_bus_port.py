"""BusPort beside its model, and its page's cycles and orders on both."""

import itertools
from collections import deque

import pytest

from tb.support.deep_values import OTHER_SIMULATORS
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import plant
from tb.support.record import Sender, record
from warploom.host.bus_port import BusPort
from warploom_dev.rewrite import Rewrite
from warploom_golden.host import BusPort as Model
from warploom_sim.cosim.lockstep import Case, run
from warploom_spec import host_packets
from warploom_spec.host_map import OKAY, SLVERR

TINY = config_of("tiny")
ADDRESS, DATA = host_packets.bus_address(TINY), host_packets.bus_data(TINY)
WRITE, READ = host_packets.bus_write(TINY), host_packets.bus_read(TINY)
#: Cycles from `read` to `answer`: 1 to the sampling, 2 more.
TIME_TO_ANSWER = 3
ANSWER, READ_ANSWER = host_packets.bus_answer(TINY), host_packets.bus_read_answer(TINY)


def make(config):
    return BusPort(config_of(config)), Model(config_of(config))


def addresses(context):
    """Yield addresses, half of them of four words, so that reads and writes meet."""
    rng = context.rng
    while True:
        few = rng.random() < 0.5
        addr = rng.randrange(16) if few else rng.getrandbits(16)
        yield ADDRESS.pack({"addr": addr, "prot": rng.getrandbits(3)})


class Channels:
    """Counts what the queues go through."""

    def __init__(self):
        self.counts_of = dict.fromkeys(
            (
                "all queues full",
                "four addresses ahead of the data",
                "four data ahead of the addresses",
                "full queue whose oldest entry leaves",
                "B has no room when it transfers",
                "R has no room when it transfers",
                "B takes all its entries",
                "R takes all its entries",
                "read and write refused in one cycle",
                "write and read of one word in one cycle",
            ),
            0,
        )
        self.reset()

    def reset(self):
        self._ahead = self._b = self._r = 0
        self._commits = False
        self._on_its_way = deque([0] * TIME_TO_ANSWER, TIME_TO_ANSWER)

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle

        def moves(channel):
            name = f"axil__{channel}"
            values = {**inputs, **outputs}
            return values[f"{name}__valid"] and values[f"{name}__ready"]

        write, read = WRITE.unpack(outputs["write"]), READ.unpack(outputs["read"])
        answer = ANSWER.unpack(inputs["answer"])
        refuses_write = self._commits and inputs["write_refused"]
        answered = self._on_its_way[0]
        full = {name: not outputs[f"axil__{name}__ready"] for name in ("aw", "w", "ar")}
        happened = {
            "all queues full": all(full.values()) and self._b >= 4 and self._r >= 5,
            "four addresses ahead of the data": self._ahead == 4,
            "four data ahead of the addresses": self._ahead == -4,
            "full queue whose oldest entry leaves": write["valid"] and full["aw"] and full["w"],
            "B has no room when it transfers": self._b >= 4 and moves("b"),
            "R has no room when it transfers": self._r >= 5 and moves("r"),
            "B takes all its entries": self._b == 5,
            "R takes all its entries": self._r == 6,
            "read and write refused in one cycle": (
                answered and answer["refused"] and refuses_write
            ),
            "write and read of one word in one cycle": (
                write["valid"] and read["valid"] and write["address"] == read["address"]
            ),
        }
        for name, it_did in happened.items():
            self.counts_of[name] += bool(it_did)
        self._ahead += bool(moves("aw")) - bool(moves("w"))
        self._b += write["valid"] - bool(moves("b"))
        self._r += read["valid"] - bool(moves("r"))
        self._commits = write["valid"]
        self._on_its_way.append(read["valid"])


def case(config, seed, cycles=2500):
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        sources={"axil__aw": addresses, "axil__ar": addresses},
        events={"channels": Channels},
    )


@pytest.mark.parametrize("config", ["tiny", "default"])
def test_equals_its_model_and_hard_cases_happen(config, seed):
    transfers = (f"transfers of axil__{name}" for name in ("aw", "w", "b", "ar", "r"))
    names = (*transfers, *Channels().counts())
    run_until(names, lambda n: [case(config, seed + n)], "amaranth")


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case("tiny", seed + k) for k in range(2)], simulator)


# Cycles and orders, of RTL and model alike


@pytest.fixture(params=[BusPort, Model], ids=["rtl", "model"])
def port(request):
    return request.param(TINY)


def address(word):
    return ADDRESS.pack({"addr": 4 * word, "prot": 0})


def data(value, strobes=0xF):
    return DATA.pack({"data": value, "strb": strobes})


def play(port, cycles=20, writes=(), words=(), reads=(), **levels):
    """Send addresses, data and reads; ``levels`` are functions of the cycle."""
    still = {"axil__b__ready": 1, "axil__r__ready": 1, "write_refused": 0, "answer": 0}

    def inputs(cycle):
        return still | {name: int(level(cycle)) for name, level in levels.items()}

    streams = {"axil__aw": list(writes), "axil__w": list(words), "axil__ar": list(reads)}
    return record(port, Sender(streams, inputs), cycles)


@pytest.mark.rule("bus_port", 2, 4)
def test_a_write_is_answered_four_cycles_after_it_was_sent(port):
    """Sent in 0, in the queues from 1 on, issued in 1, commits in 2, B in 4."""
    seen = play(port, writes=[address(5)], words=[data(7, 3)])
    assert seen.transfers("axil__aw") == [(0, address(5))]
    pulse = WRITE.pack({"valid": 1, "address": 5, "data": 7, "strobes": 3})
    assert seen.port("write")[:3] == [0, pulse, 0]
    assert seen.transfers("axil__b") == [(4, OKAY)]


@pytest.mark.rule("bus_port", 5, 7, 10)
def test_a_read_is_answered_five_cycles_after_it_was_sent(port):
    """Sent in 0, issued in 1, sampled in 2, its answer is that of 4, R in 5."""
    answers = {3: 11, 4: 22, 5: 33}
    seen = play(
        port,
        reads=[address(9)],
        answer=lambda cycle: ANSWER.pack({"refused": 0, "data": answers.get(cycle, 0)}),
    )
    assert seen.port("read")[:3] == [0, READ.pack({"valid": 1, "address": 9}), 0]
    assert seen.transfers("axil__r") == [(5, READ_ANSWER.pack({"data": 22, "resp": OKAY}))]


@pytest.mark.rule("bus_port", 3, 6)
def test_a_write_and_a_read_a_cycle(port):
    seen = play(
        port,
        writes=[address(word) for word in range(10)],
        words=[data(word) for word in range(10)],
        reads=[address(word) for word in range(10)],
    )
    assert [cycle for cycle, _ in seen.transfers("axil__b")] == list(range(4, 14))
    assert [cycle for cycle, _ in seen.transfers("axil__r")] == list(range(5, 15))


@pytest.mark.rule("bus_port", 8)
def test_a_read_does_not_wait_for_a_write_that_was_sent_before(port):
    """The write's data come in 6: it is issued in 7. The read was issued in 1."""
    seen = play(
        port,
        writes=[address(1)],
        words=[data(1)],
        reads=[address(1), address(1)],
        axil__w__hold=lambda cycle: cycle < 6,
        axil__ar__hold=lambda cycle: 0 < cycle < 7,
    )
    assert (seen.cycles("write"), seen.cycles("read")) == ([7], [1, 8])


@pytest.mark.rule("bus_port", 1, 2, 3, 4)
def test_queues_of_four_behind_five_responses(port):
    """B waits from 0 to 19. Five writes are issued in a row: the room of 4 is known in 5.

    Four more wait, and the tenth is refused until 22. The first B leaves in 20: four responses are
    taken in 21, three in 22, so a write is issued in 23, and then one in each cycle.
    """
    seen = play(
        port,
        writes=[address(word) for word in range(11)],
        words=[data(word) for word in range(11)],
        cycles=34,
        axil__b__ready=lambda cycle: cycle >= 20,
    )
    assert seen.cycles("write") == [1, 2, 3, 4, 5, 23, 24, 25, 26, 27, 28]
    assert [cycle for cycle, _ in seen.transfers("axil__aw")] == [*range(9), 24, 25]
    assert [cycle for cycle, _ in seen.transfers("axil__b")] == [*range(20, 25), *range(26, 32)]


@pytest.mark.rule("bus_port", 2, 3)
def test_a_pause_leaves_the_fifth_response_unused(port):
    """With a cycle between two writes four responses are taken, and the fifth write waits."""
    seen = play(
        port,
        writes=[address(word) for word in range(5)],
        words=[data(word) for word in range(5)],
        cycles=30,
        axil__aw__hold=lambda cycle: cycle % 2,
        axil__b__ready=lambda cycle: cycle >= 20,
    )
    assert seen.cycles("write") == [1, 3, 5, 7, 22]


@pytest.mark.rule("bus_port", 1, 5, 6, 7)
def test_six_reads_are_on_their_way_and_four_wait(port):
    """R waits from 0 to 19: six reads are issued, four wait, and the eleventh is refused.

    The first R leaves in 20: five answers are taken in 21, four in 22, so a read is issued in 23.
    """
    seen = play(
        port,
        reads=[address(word) for word in range(12)],
        cycles=34,
        axil__r__ready=lambda cycle: cycle >= 20,
    )
    assert seen.cycles("read")[:8] == [1, 2, 3, 4, 5, 6, 23, 24]
    assert [cycle for cycle, _ in seen.transfers("axil__ar")] == [*range(10), 24, 25]
    assert [cycle for cycle, _ in seen.transfers("axil__r")][:7] == [*range(20, 26), 27]


@pytest.mark.rule("bus_port", 4, 7, 9)
def test_refused_accesses_are_answered_slverr_and_counted(port):
    """The write commits in 3, the read is sampled in 2 and answered in 4: both count in 6."""
    seen = play(
        port,
        writes=[address(1)],
        words=[data(1)],
        reads=[address(1)],
        axil__aw__hold=lambda cycle: cycle < 1,
        write_refused=lambda cycle: cycle == 3,
        answer=lambda cycle: ANSWER.pack({"refused": int(cycle == 4), "data": 55}),
    )
    assert seen.transfers("axil__b") == [(5, SLVERR)]
    assert seen.transfers("axil__r") == [(5, READ_ANSWER.pack({"data": 0, "resp": SLVERR}))]
    assert seen.port("refused")[:8] == [0, 0, 0, 0, 0, 0, 2, 2]


@pytest.mark.rule("bus_port", 9)
@pytest.mark.parametrize("kind", [BusPort, Model], ids=["rtl", "model"])
def test_the_count_of_refused_accesses_wraps(kind, monkeypatch):
    """It begins one below its wrap; a write and a read count at the end of 5, a read of 6."""
    begins = "self._refused = 0xFFFFFFFF"
    late = [Rewrite(BusPort, "__init__", "Out(32)", "Out(32, init=0xFFFFFFFF)")]
    plant(monkeypatch, [*late, Rewrite(Model, "reset", "self._refused = 0", begins)])
    seen = play(
        kind(TINY),
        writes=[address(1)],
        words=[data(1)],
        reads=[address(1)] * 2,
        axil__aw__hold=lambda cycle: cycle < 1,
        write_refused=lambda cycle: cycle == 3,
        answer=lambda cycle: ANSWER.pack({"refused": 1, "data": 55}),
    )
    assert seen.port("refused")[:9] == [0xFFFFFFFF] * 6 + [1, 2, 2]


@pytest.mark.rule("bus_port", 9, 10)
def test_nothing_is_counted_without_an_access(port):
    seen = play(
        port,
        write_refused=lambda cycle: 1,
        answer=lambda cycle: ANSWER.pack({"refused": 1, "data": 55}),
    )
    assert seen.port("refused") == [0] * 20


@pytest.mark.rule("bus_port", 10)
def test_a_byte_address_is_a_word_address(port):
    sent = [ADDRESS.pack({"addr": 0x1237 + low, "prot": low}) for low in range(2)]
    seen = play(port, writes=sent, words=[data(1)] * 2, reads=sent)
    for name, packet in (("write", WRITE), ("read", READ)):
        pulses = [packet.unpack(word)["address"] for word in seen.port(name) if word]
        assert pulses == [0x1237 >> 2, 0x1238 >> 2]


@pytest.mark.rule("bus_port", 2)
def test_kth_address_has_kth_data_in_all_interleavings(port):
    """Addresses and data of four writes come in each of the 70 orders, one a cycle."""
    orders = sorted({"".join(order) for order in itertools.permutations("AAAAWWWW")})
    tokens = "".join(orders)
    count = 4 * len(orders)
    seen = play(
        port,
        writes=[address(word) for word in range(count)],
        words=[data(word) for word in range(count)],
        cycles=len(tokens) + 20,
        axil__aw__hold=lambda cycle: tokens[cycle : cycle + 1] == "W",
        axil__w__hold=lambda cycle: tokens[cycle : cycle + 1] == "A",
    )
    assert len(orders) == 70
    pulses = [WRITE.unpack(word) for word in seen.port("write") if word]
    assert [(pulse["address"], pulse["data"]) for pulse in pulses] == [
        (word, word) for word in range(count)
    ]
    assert len(seen.transfers("axil__b")) == count
