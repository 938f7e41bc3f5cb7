"""What the tests of LaunchPath's rules share: launches, a host with SMs, answers and records."""

from dataclasses import replace

import pytest

from tb.support.record import Sender, record
from warploom.launch import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_spec import LaunchDescriptor, layouts, preset

#: Each test of a module twice: of the RTL, and of the model.
RTL_AND_MODEL = pytest.mark.parametrize("block", [LaunchPath, Model], ids=["rtl", "model"])

TINY = preset("tiny")
ANSWER, RECORD = layouts.launch_answer(TINY), layouts.end_record(TINY)
#: A launch of two blocks of one warp, and one of a single block.
LAUNCH = LaunchDescriptor(grid=(2, 1, 1), block=(8, 1, 1))
SINGLE = replace(LAUNCH, grid=(1, 1, 1))


class Bus:
    """A host and its SMs; each SM completes a block ``length`` cycles after it took it.

    Parameters
    ----------
    config : Config
        The machine.
    launches : sequence of LaunchDescriptor
        Sent as fast as they are taken.
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
        self._completion = layouts.block_completion(config)
        self._offer = layouts.block_offer(config)

    def _inputs(self, cycle):
        values = {"tables": 0, "answer__ready": 1, "ended__ready": 1, "data__ready": 1}
        values |= {f"{name}__valid": 0 for name in ("stop", "clear_stream", "read")}
        values |= {f"{name}__payload": 0 for name in ("stop", "clear_stream", "read")}
        values |= {"enable": (1 << self.config.sms) - 1}
        if cycle in self._stops:
            stop = layouts.launch_stop(self.config).pack({"drain": 0} | self._stops[cycle])
            values |= {"stop__valid": 1, "stop__payload": stop}
        for n, due in enumerate(self._due):
            ended = next((entry for entry in due if entry[0] <= cycle), None)
            if ended:
                due.remove(ended)
            word = self._completion.pack({"slot": ended[1] if ended else 0, "code": 0})
            values |= {f"completion__{n}__valid": int(bool(ended)), f"offer__{n}__ready": 1}
            values |= {f"completion__{n}__payload": word, f"acknowledge__{n}": 0}
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


def answers(recording):
    found = (ANSWER.unpack(word) for _, word in recording.transfers("answer"))
    return [(answer["ticket"], answer["code"]) for answer in found]


def records(recording):
    found = (RECORD.unpack(word) for _, word in recording.transfers("ended"))
    return [(end["ticket"], end["fate"], end["code"]) for end in found]


def path_run(launches, cycles=120, config=TINY, block=Model, **levels):
    """Run a block from reset; ``levels`` are those of `Bus`, and its ``length`` and ``stops``."""
    return record(block(config), Bus(config, launches, **levels), cycles)
