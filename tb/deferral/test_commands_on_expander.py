"""A group's commands on LoopExpander's model: it rings the launches that `expand` gives."""

import random

from tb.deferral.expanded import Heap
from tb.deferral.random_groups import RandomGroup
from warploom_golden.deferral.commands import Commands, to_commands
from warploom_golden.deferral.loop_expansion import expand
from warploom_golden.host.loop_expander import LoopExpander
from warploom_spec import host_packets, loop_packets, preset
from warploom_spec.host_commands import TASK_WORDS, loop_words
from warploom_spec.host_map import template_address, template_numbers

CONFIG = preset("default")
#: Of a launch only words that a LAUNCH of this configuration has are written, without T11.
NUMBERS = [number for number in template_numbers(CONFIG) if number != 11]


class Played:
    """LoopExpander behind a host that writes templates, and before a queue that takes all."""

    def __init__(self):
        self._model = LoopExpander(CONFIG)
        self._packets = {
            "write": host_packets.bus_write(CONFIG),
            "read": host_packets.bus_read(CONFIG),
            "begin": loop_packets.loop_begin(CONFIG),
            "answers": loop_packets.loop_answers(CONFIG),
            "loop_end": loop_packets.loop_end(CONFIG),
        }
        self._step = loop_packets.loop_step(CONFIG)
        self._section = [0] * TASK_WORDS

    def cycle(self, **pulses):
        """Advance a cycle; return the step that was taken."""
        inputs = {"soft_reset_active": 0, "loop_stop": 0, "room": 0xF, "records_left": 1}
        for name, packet in self._packets.items():
            zeros = dict.fromkeys((field.name for field in packet.fields), 0)
            inputs[name] = packet.pack(zeros | pulses.get(name, {}))
        step = self._step.unpack(self._model.outputs(inputs)["step"])
        self._model.tick(inputs)
        return step if step["valid"] and not pulses.get("write") else None

    def write(self, commands, first):
        """Write templates from a slot on, modulo the slots."""
        for k, words in enumerate(commands.templates):
            slot = (first + k) % CONFIG.loop_templates
            for half in (False, True):
                for number in template_numbers(CONFIG):
                    address = template_address(slot, number, steps=half) // 4
                    data = words[number + TASK_WORDS * half]
                    self.cycle(write={"valid": 1, "address": address, "data": data, "strobes": 15})

    def launch(self, commands, first):
        """Yield the words of each launch that is rung, until the loop has ended."""
        fields = loop_words(CONFIG).unpack(commands.loop)
        slots = [(fields[name] + first) % CONFIG.loop_templates for name in SLOTS]
        begin = {name: fields[name] for name in ("count", "in_flight")}
        begin |= {"valid": 1, **dict(zip(SLOTS, slots, strict=True))}
        pulses = {"begin": begin}
        for _ in range(100_000):
            step = self.cycle(**pulses)
            pulses = {}
            if step is None:
                continue
            if step["end"]:
                assert step["data"] == 0
                return
            if step["ring"]:
                yield tuple(self._section)
                ends = {"valid": 1, "finished": 1}
                pulses = {"answers": {"accepted": 1}, "loop_end": ends}
            else:
                self._section[step["word"]] = step["data"]
        raise AssertionError("the loop did not end")


SLOTS = ("first_slot", "last_slot")


def test_the_model_rings_what_the_commands_say(seed):
    generator = random.Random(seed)
    played = Played()
    # One template alone takes a shorter way; slots wrap behind the last one.
    for launches, first in ((1, 63), (2, 63), (9, 60), (1, 5)):
        count = generator.randint(3, 8)
        made = RandomGroup(generator.getrandbits(32), launches, count, 2)
        commands = to_commands(made.group, made.store, CONFIG, Heap())
        assert isinstance(commands, Commands)
        played.write(commands, first)
        rung = list(played.launch(commands, first))
        wanted = list(expand(commands.templates, commands.loop))
        assert len(rung) == launches * count
        assert [[one[n] for n in NUMBERS] for one in rung] == [
            [one[n] for n in NUMBERS] for one in wanted
        ]
