"""The model of FrontEnd behind a driver's accesses, with SMs that run each block for a while."""

from simt_host.c_calls import Refused
from tb.support.front_end_script import ADDRESS, DATA, READ_ANSWER, quiet_inputs
from warploom_golden.host import FrontEnd
from warploom_spec import BlockStatus, layouts
from warploom_spec.host_map import OKAY
from warploom_spec.resident_packets import resident_block

#: Bit of a launch's code pointer: its blocks report a fault.
FAULTS = 4096


class ModelCore:
    """The core's model. Between accesses no time goes by.

    Parameters
    ----------
    config : Config
        The core's configuration.

    Attributes
    ----------
    taken : list of (int, dict)
        Of each block how many had ended when it was taken, and its launch's words and stream.
    ended : list of int
        Tickets of the blocks that were reported.
    """

    def __init__(self, config):
        self._model = FrontEnd(config)
        self._inputs = quiet_inputs(config)
        for name in ("aw", "w", "ar"):
            self._inputs |= {f"axil__{name}__valid": 0, f"axil__{name}__payload": 0}
        self._block, self._words = resident_block(config), layouts.launch_words(config)
        self._report = layouts.block_report(config)
        self._held = [{} for _ in range(config.sms)]
        self._now = 0
        self.taken, self.ended = [], []

    def read32(self, address):
        """Return a register's word."""
        self._send({"ar": ADDRESS.pack({"addr": address, "prot": 0})})
        answer = READ_ANSWER.unpack(self._answer("r"))
        if answer["resp"] != OKAY:
            raise Refused(hex(address))
        return answer["data"]

    def write32(self, address, value):
        """Write a register's word."""
        data = DATA.pack({"data": value, "strb": 0xF})
        self._send({"aw": ADDRESS.pack({"addr": address, "prot": 0}), "w": data})
        if self._answer("b") != OKAY:
            raise Refused(hex(address))

    def wait_irq(self):
        """Return when the interrupt is 1, or after 1,000 cycles."""
        for _ in range(1000):
            if self._step()["irq"]:
                return

    def _send(self, words):
        """Send words on some streams, each until it is taken."""
        waiting = set(words)
        for name, word in words.items():
            self._inputs |= {f"axil__{name}__valid": 1, f"axil__{name}__payload": word}
        while waiting:
            outputs = self._step()
            for name in [one for one in waiting if outputs[f"axil__{one}__ready"]]:
                waiting.remove(name)
                self._inputs[f"axil__{name}__valid"] = 0

    def _answer(self, name):
        while True:
            outputs = self._step()
            if outputs[f"axil__{name}__valid"]:
                return outputs[f"axil__{name}__payload"]

    def _step(self):
        """Let a cycle go by; return its outputs."""
        outputs = self._model.outputs(self._inputs)
        self._model.tick(self._inputs)
        self._now += 1
        for sm, held in enumerate(self._held):
            if self._inputs[f"report__{sm}__valid"] and outputs[f"report__{sm}__ready"]:
                self._inputs[f"report__{sm}__valid"] = 0
            if outputs["offer"] >> sm & 1:
                self._take(held, outputs)
            if not self._inputs[f"report__{sm}__valid"]:
                self._end_one(sm, held, outputs["kill"])
        return outputs

    def _take(self, held, outputs):
        block, words = self._block.unpack(outputs["block"]), self._words.unpack(outputs["words"])
        self.taken.append((len(self.ended), words | {"stream": block["stream"]}))
        held[block["slot"]] = self._now + words["code"] % FAULTS, block["stream"], words

    def _end_one(self, sm, held, kill):
        """Report one block that has run long enough, or is killed."""
        for slot, (due, stream, words) in held.items():
            killed = kill >> stream & 1
            if killed or self._now >= due:
                status = BlockStatus.FAULT if words["code"] & FAULTS else BlockStatus.OK
                status = BlockStatus.KILLED if killed and self._now < due else status
                word = self._report.pack({"slot": slot, "status": int(status)})
                self._inputs |= {f"report__{sm}__valid": 1, f"report__{sm}__payload": word}
                self.ended.append(words["ticket"])
                del held[slot]
                return
