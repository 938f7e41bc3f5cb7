"""LoopExpander in front of Mailbox, as FrontEnd has them, without what is behind: RTL and model."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.host import LoopExpander, Mailbox
from warploom_golden.host import LoopExpander as ExpanderModel
from warploom_golden.host import Mailbox as MailboxModel
from warploom_spec import loop_packets
from warploom_spec.queue_packets import queue_answer, queued_launch

#: What both take from outside.
TO_BOTH = ("write", "records_left", "room", "soft_reset_active")
#: Between the two.
BEGIN, ANSWERS = "begin", "answers"


class LoopedMailbox(wiring.Component):
    """Both blocks' RTL; a host that writes, and the launch path's wires.

    Parameters
    ----------
    config : Config
        With loops.
    """

    def __init__(self, config):
        self._box, self._loops = Mailbox(config), LoopExpander(config)
        box = self._box.signature.members
        names = ("write", "launch", "launch_answer", "completed", "records_left", "room")
        super().__init__(
            {
                **{name: box[name] for name in names},
                "soft_reset_active": In(1),
                "loop_end": In(loop_packets.loop_end(config).layout()),
                "write_refused": Out(1),
            }
        )

    def elaborate(self, platform):
        del platform
        m = Module()
        box, loops = self._box, self._loops
        m.submodules.mailbox, m.submodules.loops = box, loops
        wiring.connect(m, box.launch, wiring.flipped(self.launch))
        m.d.comb += [
            *(
                getattr(one, name).eq(getattr(self, name))
                for one in (box, loops)
                for name in TO_BOTH
            ),
            loops.begin.eq(box.begin),
            loops.answers.eq(box.answers),
            loops.loop_end.eq(self.loop_end),
            box.step.eq(loops.step),
            box.launch_answer.eq(self.launch_answer),
            self.write_refused.eq(box.write_refused & loops.write_refused),
            self.completed.eq(box.completed),
        ]
        return m


class LoopedMailboxModel:
    """Both blocks' models."""

    def __init__(self, config):
        self._box, self._loops = MailboxModel(config), ExpanderModel(config)
        units = range(config.units)
        idle = (f"{name}__{unit}" for name in ("done", "error", "result") for unit in units)
        silent = ("read", "abort_answer", "command_answer", "missing", "unit_reset", "clearing")
        self._usual = dict.fromkeys((*idle, *silent, "loop_result", "loop_stop"), 0)
        self._usual |= {"abort__ready": 1, "command__ready": 1}

    def outputs(self, inputs):
        step = self._loops.outputs({})
        box = self._box.outputs(self._inputs(inputs, step))
        refused = [one["write_refused"] for one in (step, box)]
        both = None if None in refused else int(all(refused))
        return {**box, "write_refused": both}

    def tick(self, inputs):
        to_box = self._inputs(inputs, self._loops.outputs({}))
        box = self._box.outputs(to_box)
        self._loops.tick({**to_box, BEGIN: box[BEGIN] or 0, ANSWERS: box[ANSWERS] or 0})
        self._box.tick(to_box)

    def _inputs(self, inputs, loops):
        return {**self._usual, **inputs, "step": loops["step"] or 0}


class Behind:
    """A host's writes by the cycle of their commit; the launch path takes and answers launches.

    Parameters
    ----------
    config : Config
        With loops.
    writes : mapping
        Packed writes by the cycle in which they commit.
    answer : int
        Cycles from a launch to its answer.
    runs_for : int
        Cycles from a launch's answer to its end.
    """

    def __init__(self, config, writes, answer=6, runs_for=20):
        self._launch, self._answer = queued_launch(config), queue_answer(config)
        self._end = loop_packets.loop_end(config)
        self._writes, self._after, self._runs_for = writes, answer, runs_for
        self._pulses = {}
        self._usual = {"records_left": 1, "room": (1 << (1 << config.priority_bits)) - 1}
        self._cycle = -1

    def next(self, outputs):
        """Return the next cycle's inputs."""
        if outputs is not None and outputs["launch__valid"]:
            # That was in the cycle before this one.
            self._take(self._cycle - 1, outputs["launch__payload"])
        inputs = {"launch__ready": 1, "soft_reset_active": 0, "launch_answer": 0, "loop_end": 0}
        inputs |= self._usual | {"write": self._writes.get(self._cycle + 1, 0)}
        for name, word in self._pulses.pop(self._cycle, ()):
            inputs[name] = word
        self._cycle += 1
        return inputs

    def _take(self, cycle, word):
        """Plan the answer of a launch, and its end."""
        launch = self._launch.unpack(word)
        said = dict.fromkeys(self._answer.offsets, 0) | {"valid": 1}
        ended = {"valid": 1, "loop": launch["loop"] - 1, "finished": 1}
        answered = cycle + self._after
        self._plan(answered, "launch_answer", self._answer.pack(said))
        self._plan(answered + self._runs_for, "loop_end", self._end.pack(ended))

    def _plan(self, cycle, name, word):
        self._pulses.setdefault(cycle, []).append((name, word))
