"""LaunchPath's host and stand-ins for its SMs by a script, and what is seen at its ports.

The hardware between them is its cycle model here, and the RTL in ``queued_rtl.py``.
"""

from collections.abc import Mapping
from typing import Any

from tb.preemption.queued_script import OPCODES, QueuedScript
from tb.support.replay_reference import SmCore, block_length
from warploom_golden.launch import LaunchPath
from warploom_golden.oracles.index_reference import warps
from warploom_golden.preemption.streams import QueuedModel
from warploom_golden.replay.event_dispatcher import SmBehaviour
from warploom_spec import BlockStatus, Config, LaunchDescriptor, layouts, queue_packets

CHECKED_MODES = 4
#: Kinds of events, in the order in which a difference is told.
KINDS = ("answers", "commands", "aborts", "decisions", "put_back", "timeline", "records")
Rows = dict[str, list[tuple[int, ...]]]
Outputs = Mapping[str, int | None]


class QueuedHost:
    """A host that sends what a script sent in which cycle, and SMs; it notes what is seen.

    In each cycle the hardware is given `inputs`, and `see` is told its outputs before the clock
    edge.

    Parameters
    ----------
    config : Config
        The machine.
    script : QueuedScript
        It has run with the event model.
    behaviour : SmBehaviour
        How the SMs behave.
    seed : int
        Seed of the block lengths.

    Attributes
    ----------
    rows : dict
        What was seen, by the kind of event.
    """

    def __init__(self, config: Config, script: QueuedScript, behaviour: SmBehaviour, seed: int):
        self.config, self.behaviour, self.seed = config, behaviour, seed
        self.sms = [SmCore(None, behaviour.report_time) for _ in range(config.sms)]
        self.rows: Rows = {kind: [] for kind in (*KINDS, "offers", "reports")}
        self._launches: dict[int, LaunchDescriptor] = {}
        self._sent: list[LaunchDescriptor] = []
        self._timeout = 0
        self._given: dict[int, list[tuple[str, Any]]] = {}
        for cycle, name, argument in script.commands:
            self._given.setdefault(cycle, []).append((name, argument))
        for cycle in script.popped:
            self._given.setdefault(cycle, []).append(("popped", None))
        self._pulses = {
            "answer": queue_packets.queue_answer(config),
            "command_answer": queue_packets.queue_code(config),
            "abort_answer": queue_packets.queue_code(config),
            "put_back": queue_packets.put_back(config),
            "timeline": queue_packets.timeline_step(config),
            "record": queue_packets.final_record(config),
        }

    def see(self, cycle: int, inputs: dict[str, int], outputs: Outputs) -> None:
        """Note a cycle's outputs; put the SMs' reports of this cycle into its inputs."""
        assert outputs["abort__ready"] or not inputs["abort__valid"]
        self._note(cycle, outputs)
        taken = self._take(cycle, outputs)
        self._report(cycle, inputs, outputs, taken)

    # --- what is sent ----------------------------------------------------------------------------
    def inputs(self, cycle: int) -> dict[str, int]:
        """Return a cycle's inputs, without reports."""
        config = self.config
        inputs = dict.fromkeys(("tables", "command", "clear_stream", "pop"), 0)
        inputs |= {"soft_reset_active": 0, "restart": 0, "enable": (1 << config.sms) - 1}
        inputs |= {f"offer__{n}__ready": 1 for n in range(config.sms)}
        inputs["data__ready"] = 1
        for stream in ("launch", "abort", "read", *(f"report__{n}" for n in range(config.sms))):
            inputs |= {f"{stream}__valid": 0, f"{stream}__payload": 0}
        if config.has_order_table:
            inputs |= {"order_table__valid": 0, "order_table__payload": 0}
        for name, argument in self._given.get(cycle, ()):
            self._send(inputs, name, argument)
        inputs["launch_timeout"] = self._timeout
        return inputs

    def _send(self, inputs: dict[str, int], name: str, argument: Any) -> None:
        config = self.config
        if name == "launch":
            inputs |= {"launch__valid": 1, "launch__payload": self._pack(argument)}
            self._sent.append(argument.descriptor)
        elif name in OPCODES:
            mask = sum(1 << stream for stream in argument)
            fields = {"valid": 1, "opcode": OPCODES[name], "mask": mask}
            inputs["command"] = queue_packets.queue_command(config).pack(fields)
        elif name == "abort":
            inputs |= {"abort__valid": 1, "abort__payload": argument}
        elif name == "clear_stream":
            fields = {"valid": 1, "stream": argument}
            inputs["clear_stream"] = queue_packets.queue_stream(config).pack(fields)
        elif name == "timeout":
            self._timeout = argument
        elif name == "popped":
            inputs["pop"] = 1

    def _pack(self, sent: Any) -> int:
        """Return the word of a launch at the port."""
        launch = sent.descriptor
        fields = dict(launch.values(self.config))
        for k in range(self.config.launch_waits):
            wait = sent.waits[k] if k < len(sent.waits) else None
            stream, count = wait or (0, 0)
            fields |= {f"wait{k}_valid": int(wait is not None), f"wait{k}_stream": stream}
            fields[f"wait{k}_count"] = count % (1 << queue_packets.WAIT_BITS)
        return queue_packets.queued_launch(self.config).pack(fields)

    # --- what is seen ----------------------------------------------------------------------------
    def _note(self, cycle: int, outputs: Outputs) -> None:
        found = {
            name: packet.unpack(outputs[name] or 0)
            for name, packet in self._pulses.items()
            if outputs[name]
        }
        if "answer" in found:
            each = found["answer"]
            names = ("ticket", "code", "argument", "count")
            self.rows["answers"].append((cycle, *(each[name] for name in names)))
            launch = self._sent.pop(0)
            if each["ticket"]:
                self._launches[each["ticket"]] = launch
        for name, kind in (("command_answer", "commands"), ("abort_answer", "aborts")):
            if name in found:
                self.rows[kind].append((cycle, found[name]["code"]))
        if "put_back" in found:
            each = found["put_back"]
            self.rows["put_back"].append((cycle, each["ticket"], each["fate"], each["next_x"]))
        if "timeline" in found:
            self.rows["timeline"].append(
                (cycle, found["timeline"]["stream"], found["timeline"]["count"])
            )
        if "record" in found:
            values = [value for name, value in found["record"].items() if name != "valid"]
            self.rows["records"].append((cycle, *values))
        if outputs["decided_valid"]:
            decision = layouts.index_decision(self.config).unpack(outputs["decided"] or 0)
            self.rows["decisions"].append((cycle, decision["hit"], decision["entry"]))

    def _take(self, cycle: int, outputs: Outputs) -> dict[int, int]:
        """Let the SMs take their offers; return the slot that each one took."""
        taken = {}
        for n, sm in enumerate(self.sms):
            sm.begin(cycle)
            if not outputs[f"offer__{n}__valid"]:
                continue
            offer = layouts.block_offer(self.config).unpack(outputs[f"offer__{n}__payload"] or 0)
            words = layouts.launch_words(self.config).unpack(
                outputs[f"words__{offer['place']}"] or 0
            )
            launch = self._launches[words["ticket"]]
            at = offer["bx"], offer["by"], offer["bz"]
            length = block_length(self.seed, launch.code, launch.arguments, at)
            faulty = self.behaviour.faults.get(launch.code) == offer["bx"]
            status = BlockStatus.FAULT if faulty else BlockStatus.OK
            count = warps(launch.block, self.config.warp_size)
            sm.take(offer["slot"], offer["place"], length, count, 0, status)
            taken[n] = offer["slot"]
            number = offer["block_number"]
            assert number == offer["bx"], f"block {offer['bx']} of a grid in x is {number}"
            self.rows["offers"].append((cycle, n, offer["slot"], words["ticket"], number))
        return taken

    def _report(
        self,
        cycle: int,
        inputs: dict[str, int],
        outputs: Outputs,
        taken: dict[int, int],
    ) -> None:
        for n, sm in enumerate(self.sms):
            # A lost SM's blocks are nobody's: they end as they would have.
            if not (outputs["lost"] or 0) >> n & 1:
                sm.kill(outputs["kill"] or 0)
            silent = cycle >= self.behaviour.silent_from.get(n, 1 << 60)
            sent, _ = sm.send(taken.get(n), silent=silent)
            if sent is not None:
                slot, _, status = sent
                fields = {"slot": slot, "status": int(status)}
                inputs[f"report__{n}__valid"] = 1
                inputs[f"report__{n}__payload"] = layouts.block_report(self.config).pack(fields)
                self.rows["reports"].append((cycle, n, slot, int(status)))


class QueuedCycles(QueuedHost):
    """One run of the cycle model."""

    def run(self, cycles: int) -> Rows:
        """Run some cycles; return what was seen."""
        model = LaunchPath(self.config)
        for cycle in range(cycles):
            inputs = self.inputs(cycle)
            self.see(cycle, inputs, model.outputs(inputs))
            model.tick(inputs)
        return self.rows


def seen(model: QueuedModel, until: int) -> Rows:
    """Return what the event model says of the cycles before another one, in the same form."""
    log = model.log
    rows: Rows = {
        "answers": [tuple(each) for each in log.answers],
        "commands": [tuple(each) for each in log.commands],
        "aborts": [tuple(each) for each in log.aborts],
        "decisions": [tuple(map(int, each)) for each in log.decisions],
        "put_back": [tuple(map(int, each[:4])) for each in log.put_back],
        "timeline": [tuple(each) for each in log.timeline],
        "records": [tuple(map(int, vars(each).values())) for each in log.records],
        "offers": [tuple(each) for each in model.offers.T.tolist()],
        "reports": [tuple(each) for each in model.reports.T.tolist()],
    }
    return {kind: sorted(row for row in table if row[0] < until) for kind, table in rows.items()}


def difference(event: Rows, cycle: Rows, other: str = "cycle model") -> str | None:
    """Return the first difference in words, of all kinds the one of the earliest cycle.

    ``other`` is the name of what the event model is compared with.
    """
    found = []
    for kind, theirs in cycle.items():
        ours = event[kind]
        rows = sorted(set(ours) ^ set(theirs))
        if len(ours) != len(set(ours)) or rows:
            row = rows[0] if rows else ()
            who = "event model" if row in ours else other
            found.append((row[0] if row else 0, f"{kind}: {row} in the {who} alone"))
    return min(found)[1] if found else None
