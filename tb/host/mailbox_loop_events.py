"""What happens at the ports of a mailbox with loops: the page's conflicts, counted."""

from tb.host.commands import ANSWER, WRITE
from tb.host.mailbox_events import Happenings
from tb.support.dispatch_configs import Observers
from warploom_spec import Config, loop_packets, queue_packets
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import OFFSETS

#: Codes that only a mailbox with loops gives.
OF_LOOPS = tuple(
    f"ERROR reads {code.name}"
    for code in (
        HostError.NO_LOOP,
        HostError.TEMPLATE_BUSY,
        HostError.LAUNCH_FAILED,
        HostError.LOOP_STOPPED,
    )
)


class LoopHappenings(Happenings):
    """Counts, beside what any mailbox shows, what one with loops does.

    Parameters
    ----------
    config : Config
        Loops.
    """

    def __init__(self, config: Config):
        self._step = loop_packets.loop_step(config)
        self._answers = loop_packets.loop_answers(config)
        self._launch = queue_packets.queued_launch(config)
        self._pairs = range(config.launch_waits)
        super().__init__()
        names = (
            *("a LOOP begins", "a LOOP begins while the mailbox is shut"),
            *("accepted", "full", "refused", "two loops are told in one cycle"),
            *("told while closed", "a step stands", "a ring commits", "an end commits"),
            *("a ring is dropped", "an end is dropped", "a ring commits and a launch goes"),
            *("a launch of a loop, quiet", "a launch of a host beside a loop", "a relative pair"),
            "RESULT2 or RESULT3 reads what the expander says",
        )
        self.counts_of |= dict.fromkeys(names, 0)

    def reset(self):
        super().reset()
        #: The step that commits, and `loop_result` of the cycle before.
        self._commits, self._said = None, 0

    def see(self, cycle, inputs, outputs):
        shut, closed = self._closing.shut, self._closing.closed
        self._see_result(inputs, outputs)
        super().see(cycle, inputs, outputs)
        self._count("a LOOP begins", outputs["begin"])
        self._count("a LOOP begins while the mailbox is shut", outputs["begin"] and shut)
        told = self._answers.unpack(outputs["answers"])
        for name, bits in told.items():
            self._count(name, bits)
        self._count("told while closed", outputs["answers"] and closed)
        self._count("two loops are told in one cycle", outputs["answers"].bit_count() > 1)
        self._see_step(inputs, outputs, shut)
        if outputs["launch__valid"]:
            self._see_launch(outputs["launch__payload"])

    def _see_step(self, inputs, outputs, shut):
        step, commits = self._step.unpack(inputs["step"]), self._commits
        writes = WRITE.unpack(inputs["write"])["valid"]
        self._count("a step stands", step["valid"] and writes)
        for kind, name in (("ring", "a ring"), ("end", "an end")):
            happens = commits is not None and commits[kind]
            self._count(f"{name} commits", happens and not shut)
            self._count(f"{name} is dropped", happens and shut)
        rings = commits is not None and commits["ring"] and not shut
        self._count("a ring commits and a launch goes", rings and outputs["launch__valid"])
        self._commits = step if step["valid"] and not writes else None

    def _see_result(self, inputs, outputs):
        """Note a read of a loop's result that gives what came in the cycle after its sampling."""
        said, self._said = self._said, inputs["loop_result"]
        if self._asked[0] in (OFFSETS["RESULT2"], OFFSETS["RESULT3"]):
            data = ANSWER.unpack(outputs["answer"])["data"]
            self._count("RESULT2 or RESULT3 reads what the expander says", data and data == said)

    def _see_launch(self, payload):
        launch = self._launch.unpack(payload)
        self._count("a launch of a loop, quiet", launch["loop"] and launch["quiet"])
        self._count("a launch of a host beside a loop", not launch["loop"])
        pairs = (launch[f"wait{k}_valid"] & launch[f"wait{k}_relative"] for k in self._pairs)
        self._count("a relative pair", any(pairs))


LOOP_HAPPENINGS = Observers(LoopHappenings)
