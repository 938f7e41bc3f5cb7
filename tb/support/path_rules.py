"""What the tests of LaunchPath's rules share: launches, a host with SMs, answers and records."""

from dataclasses import replace

import pytest

from tb.support.record import Sender, made, record
from warploom.launch import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_spec import ErrorCode, Fate, LaunchDescriptor, layouts, preset

#: Each test of a module twice: of the RTL, and of the model.
RTL_AND_MODEL = pytest.mark.parametrize("block", [LaunchPath, Model], ids=["rtl", "model"])

TINY = preset("tiny")
ANSWER, RECORD = layouts.launch_answer(TINY), layouts.end_record(TINY)
#: A launch of two blocks of one warp, and one of a single block.
LAUNCH = LaunchDescriptor(grid=(2, 1, 1), block=(8, 1, 1))
SINGLE = replace(LAUNCH, grid=(1, 1, 1))

#: Fate and code of launches.
FINE = (Fate.FINISHED, ErrorCode.OK)
LOST = (Fate.FAILED, ErrorCode.SM_LOST)
SKIPPED = (Fate.SKIPPED, ErrorCode.OK)


class Bus:
    """A host and its SMs; each SM reports a block ``length`` cycles after it took it.

    Parameters
    ----------
    config : Config
        The machine.
    launches : sequence of LaunchDescriptor
        Sent one a cycle.
    length : int
        0: blocks never end.
    stops : mapping
        Cycle -> fields of the stop sent then.
    levels : mapping
        Inputs that differ from their usual values; a callable gets the cycle.
    """

    def __init__(self, config, launches, length=4, stops=None, **levels):
        self.config = config
        self._length, self._stops, self._levels = length, stops or {}, levels
        self._due = [[] for _ in range(config.sms)]
        self._sender = Sender({"launch": [one.pack(config) for one in launches]}, self._inputs)
        self._report = layouts.block_report(config)
        self._offer = layouts.block_offer(config)

    def _inputs(self, cycle):
        values = {"tables": 0, "ended__ready": 1}
        streams = ["stop", "clear_stream"]
        if self.config.makes_indices:
            values["data__ready"] = 1
            streams.append("read")
        values |= {f"{name}__valid": 0 for name in streams}
        values |= {f"{name}__payload": 0 for name in streams}
        values |= {"enable": (1 << self.config.sms) - 1}
        if cycle in self._stops:
            stop = layouts.launch_stop(self.config).pack({"drain": 0} | self._stops[cycle])
            values |= {"stop__valid": 1, "stop__payload": stop}
        for n, due in enumerate(self._due):
            ended = next((entry for entry in due if entry[0] <= cycle), None)
            if ended:
                due.remove(ended)
            word = self._report.pack({"slot": ended[1] if ended else 0, "status": 0})
            values |= {f"report__{n}__valid": int(bool(ended)), f"offer__{n}__ready": 1}
            values |= {f"report__{n}__payload": word}
        for name, value in self._levels.items():
            values[name] = value(cycle) if callable(value) else value
        return values

    def next(self, outputs):
        """Return the next cycle's inputs."""
        if outputs is not None and self._length:
            for n, due in enumerate(self._due):
                if outputs[f"offer__{n}__valid"] and self._sender.inputs[f"offer__{n}__ready"]:
                    slot = self._offer.unpack(outputs[f"offer__{n}__payload"])["slot"]
                    due.append((self._sender.cycle - 1 + self._length, slot))
        return self._sender.next(outputs)


def answered(recording):
    """Return cycle and fields of each answer."""
    found = ((cycle, ANSWER.unpack(word)) for cycle, word in enumerate(recording.port("answer")))
    return [(cycle, answer) for cycle, answer in found if answer["valid"]]


def answers(recording):
    """Return ticket and code of each answer."""
    return [(answer["ticket"], answer["code"]) for _, answer in answered(recording)]


def records(recording):
    """Return ticket, fate and code of each final record."""
    found = (RECORD.unpack(word) for _, word in recording.transfers("ended"))
    return [(end["ticket"], end["fate"], end["code"]) for end in found]


def unknown_stops(recording):
    """Return the cycles in which a stop is told to have named no launch."""
    packet = layouts.error_record(TINY)
    all_cycles = ((c, packet.unpack(word)) for c, word in enumerate(recording.port("error")))
    found = [(cycle, error) for cycle, error in all_cycles if error["valid"]]
    assert {error["code"] for _, error in found} <= {ErrorCode.STOP_UNKNOWN}
    return [cycle for cycle, _ in found]


def path_run(launches, cycles=120, config=TINY, block=Model, first_ticket=1, **levels):
    """Run a block from reset; ``levels`` are those of `Bus`, and its ``length`` and ``stops``."""
    chosen = made(block, config, first_ticket=first_ticket)
    return record(chosen, Bus(config, launches, **levels), cycles)
