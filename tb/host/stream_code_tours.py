"""Tours of the Python driver in which stream queues refuse what the page says: every code."""

from tb.host.code_tours import LONG, Provoker, codes
from tb.host.driver_tours import descriptor, kernel
from warploom_spec.host_commands import Opcode
from warploom_spec.queue_host import QueueHostOpcode, mask_words, queued_launch_words

#: Streams that do not exist in `tiny`, and one that does.
NO_STREAM, STREAM = 16, 3


class StreamProvoker(Provoker):
    """Provokes codes of commands for streams, and of launches that wait."""

    def mask(self, name, opcode, mask):
        fields = {"opcode": int(opcode), "flags": 0, "parameter": 0, "mask": mask}
        layout = mask_words(self.core._config)
        self.command(name, lambda: self.core._submit(0, layout, fields))

    def waits(self, name, *waits, **fields):
        """Launch with pairs (stream, count)."""
        launch = descriptor((0,), kernel(**fields))
        self.command(name, lambda: self.core.submit_launch(0, launch, waits))

    def pair(self, name, k, stream):
        """Launch with pair k alone, which may be one that this configuration lacks."""
        layout = queued_launch_words(self.core._config)
        fields = dict.fromkeys(layout.by_name, 0) | kernel()
        fields |= {"opcode": int(Opcode.LAUNCH), "flags": 1 << k, f"wait{k}_stream": stream}
        self.command(name, lambda: self.core._submit(0, layout, fields))


def everything(core, sms, cores):
    """Provoke what stream queues add, then every code of version 1; every SM is lost then."""
    to = StreamProvoker(core, sms, cores)
    _fields(to)
    _waits(to)
    _commands(to)
    _priorities(to)
    _timeout(to)
    to.fresh()
    return {"streams": to.found, "codes": codes(core, sms, cores)}


def _fields(to):
    """Values that this configuration does not have."""
    opcodes = QueueHostOpcode
    for opcode in opcodes:
        to.mask(f"{opcode.name} of no stream", opcode, 0)
        to.mask(f"{opcode.name} of a stream that does not exist", opcode, 1 << NO_STREAM)
    to.launch("a launch in a stream that does not exist", stream=NO_STREAM)
    to.launch("a mode that does not exist", mode=5)
    to.pair("a pair of a stream that does not exist", 1, NO_STREAM)
    to.pair("a pair too many", 2, STREAM)


def _waits(to):
    """A wait for what was not accepted yet; the next launch is that one."""
    to.waits("a wait ahead", (STREAM, 1))
    to.waits("a second wait ahead", (STREAM, 0), (STREAM, 1))
    to.waits("a wait that is reached", (STREAM, 0))
    to.core.wait_record()


def _commands(to):
    """A second PREEMPT, a RESUME of what runs, an ABORT of what has ended."""
    core = to.core
    # It is not stopped: the PREEMPT waits for its end.
    ticket = core.launch(0, descriptor((0,), kernel(1, LONG, stream=STREAM, mode=3)))
    to.wait_for_any_block()
    to.mask("PREEMPT", QueueHostOpcode.PREEMPT, 1 << STREAM)
    to.mask("a second PREEMPT", QueueHostOpcode.PREEMPT, 1 << STREAM)
    to.mask("RESUME of another stream", QueueHostOpcode.RESUME, 1 << STREAM + 1)
    to.mask("RESUME", QueueHostOpcode.RESUME, 1 << STREAM)
    to.mask("RESUME again", QueueHostOpcode.RESUME, 1 << STREAM)
    to.command("ABORT", lambda: core.submit_abort(0, ticket))
    records = [core.wait_record() for _ in range(2)]
    to.found["records"] = sorted([one.kind, one.fate] for one in records)
    to.command("ABORT of a launch that has ended", lambda: core.submit_abort(0, ticket))
    to.command("ABORT of no launch", lambda: core.submit_abort(0, 0))


def _priorities(to):
    """One priority is full, and another one is not; at last no record has room."""
    to.start_until_refused("a full priority")
    to.launch("another priority", stream=STREAM, priority=1)
    to.fresh()
    to.cycles = 1
    name = "no room for a record"
    while name not in to.found or to.found[name][0] == to.found["a full priority"][0]:
        to.start_until_refused(name)
    to.mask("no room for a PREEMPT's record", QueueHostOpcode.PREEMPT, 1)
    to.cycles = LONG
    to.fresh()


def _timeout(to):
    to.core.set_launch_timeout(100)
    to.start(cycles=LONG, blocks=1)
    to.record("a launch that runs too long")
    to.core.set_launch_timeout(0)
