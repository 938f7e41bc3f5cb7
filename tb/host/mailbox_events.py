"""What happens at the mailbox's ports: the page's conflicts, counted."""

from tb.host.commands import ALL, ANSWER, READ, WRITE
from warploom_spec import ErrorCode
from warploom_spec.host_commands import Opcode
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import OFFSETS
from warploom_spec.queue_packets import FIRST_WAIT_WORD


class Closing:
    """Whether the mailbox is shut, and whether it is closed, in the cycle to come."""

    def __init__(self):
        self._active = [0] * 3

    def next(self, active):
        """Note ``soft_reset_active`` of a cycle."""
        self._active = [*self._active[1:], active]

    @property
    def shut(self):
        return self._active[-1]

    @property
    def closed(self):
        return all(self._active)


class Happenings:
    """Counts what the page's conflicts speak of, from ports alone."""

    def __init__(self):
        self.counts_of = dict.fromkeys(
            (
                "outside the map or read-only: refused",
                "doorbell with a strobe missing: refused",
                "task register of a section in use: refused",
                "doorbell above 1 of a free section: refused",
                "doorbell rung while 1: refused",
                "some bytes of a task register's word written",
                "two sections complete in one cycle",
                "DISCONNECT and unit reset in one cycle",
                "result and done in one cycle",
                "write and completion of a section in one cycle",
                "read and completion of a section in one cycle",
                "two sections answered and ended in one cycle",
                "closed while a launch is not answered",
                "shut in the cycle of a judgement",
                "a launch is answered while closed",
                "an abort is answered while closed",
                "a task ends while closed",
                "several launches not answered",
                "RESULT0 reads a ticket",
                "ERROR reads a code of the launch path",
                "a command while an abort waits",
                "commands go in two cycles in a row",
                "a command stands and is not taken",
                "a doorbell is rung while a launch waits for the pace",
                "two launches are rung while the pace lets none go",
                "a launch is rung while a stream is being mended",
                "ERROR reads QUEUE_FULL",
                "ERROR reads COMPLETION_FULL",
                "a command is answered while closed",
                "answers to a launch and to a command in one cycle",
                "answers to an abort and to a command in one cycle",
                "a command while the mailbox is shut",
                "a launch waits for a pair",
                "RESULT1 reads a number",
                "ERROR reads a wrong mask",
                "ERROR reads a wrong pair",
                *(f"ERROR reads {code.name}" for code in HostError if code),
            ),
            0,
        )
        self._opcodes = {}
        self._flags = {}
        self.reset()

    def reset(self):
        #: Sections that were rung and not seen free since.
        self._rung = set()
        self._disconnects = None
        #: Offsets of the words that reads asked for two cycles ago, and in the last one.
        self._asked = [None] * 2
        self._launches = 0
        self._rang = False
        self._last_command = False
        #: Launches that were rung since the pace let one go.
        self._held = 0
        self._closing = Closing()
        #: The write that commits, and the read that is sampled.
        self._acting = {"write": WRITE.unpack(0), "read": READ.unpack(0)}

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle
        self._see_commands(inputs, outputs)
        self._see_units(inputs, outputs)
        self._see_read(outputs)
        self._see_launch_path(inputs, outputs)
        self._disconnects = self._see_write(outputs)
        self._closing.next(inputs["soft_reset_active"])
        self._acting = {
            access: packet.unpack(inputs[access])
            for access, packet in (("write", WRITE), ("read", READ))
        }

    def _count(self, name, happened=True):
        self.counts_of[name] += bool(happened)

    def _see_commands(self, inputs, outputs):
        commanded, answered = outputs["command__valid"], inputs["command_answer"]
        goes = commanded and inputs["command__ready"]
        shut, closed = self._closing.shut, self._closing.closed
        self._count("a command while an abort waits", commanded and outputs["abort__valid"])
        self._count("commands go in two cycles in a row", goes and self._last_command)
        self._count("a command stands and is not taken", commanded and not goes)
        self._count("a command is answered while closed", answered and closed)
        self._count("a command while the mailbox is shut", commanded and shut)
        for name in ("launch", "abort"):
            together = answered and inputs[f"{name}_answer"]
            article = "an" if name == "abort" else "a"
            self._count(f"answers to {article} {name} and to a command in one cycle", together)
        self._last_command = bool(goes)

    def _see_units(self, inputs, outputs):
        ends = []
        for name, word in inputs.items():
            if name.startswith("done__") and word:
                unit = int(name[6:])
                ends.append(unit)
                self._count("result and done in one cycle", inputs[f"result__{unit}"])
        self._count("two sections complete in one cycle", len(ends) > 1)
        for access, fields in self._acting.items():
            section, _ = divmod(fields["address"] - 0x400, 0x80)
            happened = fields["valid"] and section in ends
            self._count(f"{access} and completion of a section in one cycle", happened)
        # A command is judged a cycle after its doorbell was written.
        unit = self._disconnects
        if unit is not None:
            happened = (inputs["unit_reset"] & ~outputs["disconnected"]) >> unit & 1
            self._count("DISCONNECT and unit reset in one cycle", happened)

    def _see_launch_path(self, inputs, outputs):
        closed, answer = self._closing.closed, inputs["launch_answer"]
        ends = any(word for name, word in inputs.items() if name.startswith("done__"))
        stops = inputs["abort_answer"]
        self._count("closed while a launch is not answered", closed and self._launches)
        self._count("shut in the cycle of a judgement", self._closing.shut and self._rang)
        self._count("a launch is answered while closed", closed and answer)
        self._count("an abort is answered while closed", closed and stops)
        self._count("a task ends while closed", closed and ends)
        self._count("several launches not answered", self._launches > 1)
        together = not closed and bool(answer) + bool(stops) + ends > 1
        self._count("two sections answered and ended in one cycle", together)
        self._launches += outputs["launch__valid"] - bool(answer)
        self._held = 0 if inputs["launch__ready"] else self._held
        fields = self._acting["write"]
        _, word = divmod(fields["address"] - 0x400, 0x80)
        rings = fields["valid"] and word == 0 and fields["data"] == 1
        self._rang = rings and not outputs["write_refused"] and fields["strobes"]
        self._see_launch_rung(inputs)

    def _see_launch_rung(self, inputs):
        """Note a launch that is rung in this cycle, and any doorbell behind one."""
        section = (self._acting["write"]["address"] - 0x400) // 0x80
        launch = self._rang and self._opcodes.get(section) == Opcode.LAUNCH
        self._held += bool(launch)
        self._count("two launches are rung while the pace lets none go", self._held > 1)
        self._count(
            "a launch is rung while a stream is being mended", launch and inputs["clearing"]
        )
        waits = self._held and self._rang and not launch
        self._count("a doorbell is rung while a launch waits for the pace", waits)

    def _see_read(self, outputs):
        asked = self._asked[0]
        data = ANSWER.unpack(outputs["answer"])["data"] if asked is not None else 0
        code = data & 0xFF
        if asked == OFFSETS["ERROR"] and code:
            full = {int(one): one.name for one in (ErrorCode.QUEUE_FULL, ErrorCode.COMPLETION_FULL)}
            ours = code in list(HostError)
            theirs = full.get(code, "a code of the launch path")
            name = HostError(code).name if ours else theirs
            self._count(f"ERROR reads {name}")
        self._count("RESULT1 reads a number", asked == OFFSETS["RESULT1"] and data >> 16)
        if asked == OFFSETS["ERROR"] and code == HostError.FIELD_RANGE:
            self._count("ERROR reads a wrong mask", data >> 16 == 1)
            self._count("ERROR reads a wrong pair", data >> 16 >= FIRST_WAIT_WORD)
        self._count("RESULT0 reads a ticket", asked == OFFSETS["RESULT0"] and data)
        fields = self._acting["read"]
        section, word = divmod(fields["address"] - 0x400, 0x80)
        sampled = 4 * word if fields["valid"] and section >= 0 else None
        self._asked = [self._asked[1], sampled]

    def _see_write(self, outputs):
        """Return the section whose DISCONNECT was rung in this cycle, if so."""
        fields = self._acting["write"]
        refused = fields["valid"] and outputs["write_refused"]
        if not fields["valid"]:
            return None
        section, word = divmod(fields["address"] - 0x400, 0x80)
        doorbell, task = word == 0, word >= 0x20
        if section < 0 or not (doorbell or task) or not fields["strobes"]:
            self._count("outside the map or read-only: refused", refused)
            return None
        if refused:
            self._see_refused(section, doorbell, fields)
            return None
        if task:
            self._rung.discard(section)
            self._count("some bytes of a task register's word written", fields["strobes"] != ALL)
            if word == 0x20 and fields["strobes"] & 1:
                self._opcodes[section] = fields["data"] & 0xFF
                self._flags[section] = fields["data"] >> 8 & 3 if fields["strobes"] & 2 else 0
            return None
        if not fields["data"]:
            return None
        self._rung.add(section)
        launches = self._opcodes.get(section) == Opcode.LAUNCH
        self._count("a launch waits for a pair", launches and self._flags.get(section))
        return section if self._opcodes.get(section) == Opcode.DISCONNECT else None

    def _see_refused(self, section, doorbell, fields):
        if not doorbell:
            self._count("task register of a section in use: refused")
        elif fields["strobes"] != ALL:
            self._count("doorbell with a strobe missing: refused")
        elif section not in self._rung:
            self._count("doorbell above 1 of a free section: refused", fields["data"] > 1)
        elif fields["data"] == 1:
            self._count("doorbell rung while 1: refused")
