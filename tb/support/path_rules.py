"""A host and SMs around LaunchPath: launches one a cycle, blocks that end by themselves."""

from dataclasses import replace

from tb.support.record import Sender, made, record
from warploom_golden.launch import LaunchPath as Model
from warploom_spec import LaunchDescriptor, layouts, preset, queue_packets

TINY = preset("tiny")
#: A launch of two blocks of one warp, and one of a single block.
LAUNCH = LaunchDescriptor(grid=(2, 1, 1), block=(8, 1, 1))
SINGLE = replace(LAUNCH, grid=(1, 1, 1))


class Bus:
    """A host and its SMs; each SM reports a block ``length`` cycles after it took it.

    Parameters
    ----------
    config : Config
        The machine.
    launches : sequence of LaunchDescriptor
        Sent one a cycle; none waits for another.
    length : int
        0: blocks never end.
    levels : mapping
        Inputs that differ from their usual values; a callable gets the cycle.
    """

    def __init__(self, config, launches, length=4, **levels):
        self.config = config
        self._length, self._levels = length, levels
        self._due = [[] for _ in range(config.sms)]
        self._sender = Sender({"launch": [self._word(one) for one in launches]}, self._inputs)
        self._report = layouts.block_report(config)
        self._offer = layouts.block_offer(config)

    def _word(self, launch):
        packet = queue_packets.queued_launch(self.config)
        fields = layouts.launch_descriptor(self.config).unpack(launch.pack(self.config))
        return packet.pack({field.name: fields.get(field.name, 0) for field in packet.fields})

    def _inputs(self, cycle):
        idle = ("tables", "command", "clear_stream", "launch_timeout", "pop")
        values = dict.fromkeys((*idle, "soft_reset_active", "restart"), 0)
        streams = ["abort"]
        if self.config.makes_indices:
            values["data__ready"] = 1
            streams.append("read")
        values |= {f"{name}__valid": 0 for name in streams}
        values |= {f"{name}__payload": 0 for name in streams}
        values |= {"enable": (1 << self.config.sms) - 1}
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


def path_run(launches, cycles=120, config=TINY, block=Model, **levels):
    """Run a launch path from reset; ``levels`` are those of `Bus`, and its ``length``."""
    return record(made(block, config), Bus(config, launches, **levels), cycles)
