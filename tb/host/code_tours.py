"""Tours of the Python driver in which every code that the core can give is provoked.

A tour is blocking code. It returns what was found, as plain data.
"""

from dataclasses import astuple

from simt_host.c_calls import Refused
from tb.host.driver_tours import descriptor, kernel
from warploom_host import CommandFailed
from warploom_host.loops import Templates
from warploom_spec import BlockStatus, preset
from warploom_spec.host_commands import (
    STREAM_COMMANDS,
    Opcode,
    command_words,
    launch_words,
    loop_words,
    mask_words,
)

#: Cycles of blocks that outlast everything else in a tour.
LONG = 4000
#: A stream that does not exist in `tiny`, and one that does.
NO_STREAM, STREAM = 1 << preset("tiny").stream_bits, 3


class Provoker:
    """Provokes codes, and keeps for each code, its argument, and the error records it counted."""

    def __init__(self, core, sms, cores):
        self.core, self.sms, self.cores = core, sms, cores
        self.found = {}

    def note(self, name, code, argument, before):
        """Keep what was found; ``before`` is ERROR_COUNT's value before it."""
        self.found[name] = [code, argument, self.core.register("ERROR_COUNT") - before]

    def command(self, name, submit, section=0):
        """Submit a command, wait for its outcome and keep the code."""
        before = self.core.register("ERROR_COUNT")
        submit()
        outcome = self.core.wait(section)
        self.note(name, outcome.code, outcome.argument, before)
        return outcome

    def launch(self, name, **fields):
        launch = descriptor((0,), kernel(**fields))
        self.command(name, lambda: self.core.submit_launch(0, launch))

    def task(self, name, code=0, section=0, **task):
        submit = self.core.submit_task
        return self.command(name, lambda: submit(section, code, 0, **task), section)

    def opcode(self, name, opcode, section=0):
        head = {"opcode": opcode, "flags": 0, "parameter": 0}
        layout = command_words(self.core._config)
        self.command(name, lambda: self.core._submit(section, layout, head), section)

    def record(self, name):
        """Keep the code of the next final record; a record has no argument."""
        before = self.core.register("ERROR_COUNT")
        self.note(name, self.core.wait_record().code, 0, before)

    def report(self, name, sm, slot, status=BlockStatus.OK):
        """Let an SM report a slot, and keep the error record that follows."""
        self.event(name, lambda: self.sms.forced.append((sm, slot, status)))

    def event(self, name, act):
        """Do what makes an error record, and keep it."""
        before = self.core.register("ERROR_COUNT")
        act()
        while self.core.register("ERROR_COUNT") == before:
            pass
        last = self.core.register("ERROR_LAST")
        # Block [15:8] is the dispatcher.
        assert last >> 8 & 0xFF == 1
        self.note(name, last & 0xFF, last >> 16, before)

    def start(self, **fields):
        """Launch, and return the ticket."""
        return self.core.launch(0, descriptor((0,), kernel(**fields)))

    def start_until_refused(self, name):
        """Launch without an end until a launch is refused."""
        for _ in range(60):
            before = self.core.register("ERROR_COUNT")
            self.core.submit_launch(0, descriptor((0,), kernel(cycles=self.cycles)))
            outcome = self.core.wait(0)
            if outcome.code:
                self.note(name, outcome.code, outcome.argument, before)
                return

    def mask(self, name, opcode, mask):
        fields = {"opcode": int(opcode), "flags": 0, "parameter": 0, "mask": mask}
        layout = mask_words(self.core._config)
        self.command(name, lambda: self.core._submit(0, layout, fields))

    def waits(self, name, *waits, **fields):
        """Launch with pairs (stream, count)."""
        launch = descriptor((0,), kernel(**fields))
        self.command(name, lambda: self.core.submit_launch(0, launch, waits))

    def loop(self, name, first, last, section=0):
        """Ring a LOOP of one iteration that the driver would not ring."""
        fields = {"opcode": int(Opcode.LOOP), "flags": 0, "parameter": 0, "count": 1}
        fields |= {"first_slot": first, "last_slot": last, "in_flight": 0}
        layout = loop_words(self.core._config)
        self.command(name, lambda: self.core._submit(section, layout, fields), section)

    def pair(self, name, k, stream):
        """Launch with pair k alone, which may be one that this configuration lacks."""
        layout = launch_words(self.core._config)
        fields = dict.fromkeys(layout.by_name, 0) | kernel()
        fields |= {"opcode": int(Opcode.LAUNCH), "flags": 1 << k, f"wait{k}_stream": stream}
        self.command(name, lambda: self.core._submit(0, layout, fields))

    cycles = LONG

    def fresh(self):
        """Reset softly and take all records."""
        self.core.soft_reset()
        while self.core.take_record():
            pass

    def wait_for_any_block(self):
        """Wait until an SM holds a block."""
        while not any(self.sms.running):
            self.core.register("ROOM")

    def wait_for_block(self, sm=0):
        """Wait until an SM holds a block; return its slot."""
        while not self.sms.running[sm]:
            self.core.register("ROOM")
        return next(iter(self.sms.running[sm]))


def everything(core, sms, cores):
    """Take every tour of `tiny`; every SM is lost at the end."""
    return {
        "rounds": rounds(core, sms, cores),
        "streams": streams(core, sms, cores),
        "codes": codes(core, sms, cores),
    }


def streams(core, sms, cores):
    """Provoke what commands for streams, waits and time-outs are answered."""
    to = Provoker(core, sms, cores)
    _fields(to)
    _waits(to)
    _commands(to)
    _priorities(to)
    _timeout(to)
    to.fresh()
    return to.found


def codes(core, sms, cores):
    """Provoke every code that `tiny` can give."""
    to = Provoker(core, sms, cores)
    _content(to)
    _queues(to)
    _loops(to)
    _units(to)
    _reset(to)
    _sms(to)
    return to.found


def _content(to):
    """What LaunchCheck and the mailbox refuse for its content."""
    to.launch("GRID_ZERO", gz=0)
    to.launch("GRID_RANGE", gy=256)
    to.launch("BLOCK_ZERO", dy=0)
    to.launch("BLOCK_RANGE", dx=1025)
    to.launch("THREADS", dx=257)
    to.launch("INDEX_REGION", dx=16, index_address=63)
    to.launch("BLOCK_WARPS", dx=129)
    to.launch("BLOCK_REGISTERS", warp_registers=33)
    to.launch("BLOCK_SHARED", shared=65)
    to.launch("BLOCK_BARRIERS", barriers=5)
    to.launch("TABLE_UNKNOWN", table=3)
    to.launch("FIELD_RANGE", stream=NO_STREAM)


def _queues(to):
    """What is refused for what is there already, and aborts."""
    to.start(cycles=LONG, stream=1)
    to.launch("STREAM_PRIORITY", stream=1, priority=1)
    to.command("TICKET_UNKNOWN", lambda: to.core.submit_abort(0, 99))
    to.start_until_refused("QUEUE_FULL")
    to.fresh()
    # Records that nobody takes.
    to.cycles = 1
    while "COMPLETION_FULL" not in to.found or to.found["COMPLETION_FULL"][0] == 32:
        to.start_until_refused("COMPLETION_FULL")
    to.fresh()


def _loops(to):
    """What refuses a LOOP, and what ends one before all its launches have finished."""
    templates = Templates(to.core)
    first = templates.take_slots(2)

    def end(name):
        templates.loop_done(1)
        outcome = templates.loop_outcome(1)
        to.note(name, outcome.code, outcome.argument, to.core.register("ERROR_COUNT"))
        to.fresh()

    def begin(iterations, **fields):
        for slot in (first, first + 1):
            templates.write_template(slot, descriptor((0,), kernel(blocks=1, **fields)))
        templates.submit_loop(1, first, 2, iterations)

    begin(10**6)
    to.loop("TEMPLATE_BUSY", first + 1, first + 1)
    templates.loop_stop(1)
    end("LOOP_STOPPED")
    begin(1, cycles=4096 + 20)
    end("LAUNCH_FAILED")


def _units(to):
    """What units and their cores have to say."""
    to.opcode("BAD_OPCODE", 3)
    to.task("NO_UNIT", section=1)
    to.task("BAD_SPLIT", parts=5)
    to.task("CORE_FAILED", code=13)
    to.opcode("DISCONNECT", 8)
    to.task("DISCONNECTED")
    to.core.reset_units(1)
    to.cores.holds = True
    to.task("CORE_TIMEOUT", code=14)
    to.task("CORE_MISSING")
    to.cores.holds = False


def _reset(to):
    """A task that a reset of its unit meets."""
    while to.core.register("UNIT_STATE"):
        pass
    to.cores.holds = True

    def submit():
        to.core.submit_task(0, 14, 0)
        to.core.reset_units(1)

    to.command("RESET", submit)
    to.cores.holds = False


def _sms(to):
    """What SMs do wrong; the last of them is lost."""
    to.start(cycles=4096 + 20, blocks=1)
    to.record("BLOCK_FAULT")
    to.report("REPORT_NOT_RUNNING", 1, 2)
    to.start(cycles=LONG, blocks=1)
    to.wait_for_any_block()
    sm = 0 if to.sms.running[0] else 1
    to.report("KILL_NOT_ASKED", sm, to.wait_for_block(sm), BlockStatus.KILLED)
    to.core.wait_record()
    ticket = to.start(cycles=LONG, blocks=8, stream=2)
    to.wait_for_block(0)
    to.wait_for_block(1)
    to.sms.silent = True
    to.core.abort(1, ticket)
    to.record("SM_LOST")
    to.launch("STREAM_BROKEN", stream=2)
    to.launch("NO_SM")
    to.report("LOST_SM_SIGNAL", 1, 0)


def _fields(to):
    """Values that this configuration does not have."""
    for opcode in STREAM_COMMANDS:
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
    to.mask("PREEMPT", Opcode.PREEMPT, 1 << STREAM)
    to.mask("a second PREEMPT", Opcode.PREEMPT, 1 << STREAM)
    to.mask("RESUME of another stream", Opcode.RESUME, 1 << STREAM + 1)
    to.mask("RESUME", Opcode.RESUME, 1 << STREAM)
    to.mask("RESUME again", Opcode.RESUME, 1 << STREAM)
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
    to.mask("no room for a PREEMPT's record", Opcode.PREEMPT, 1)
    to.cycles = LONG
    to.fresh()


def _timeout(to):
    to.core.set_launch_timeout(100)
    to.start(cycles=LONG, blocks=1)
    to.record("a launch that runs too long")
    to.core.set_launch_timeout(0)


def special(core, sms, cores):
    """Provoke what `tiny` cannot give: an order table with a hole behind it, short index words."""
    to = Provoker(core, sms, cores)
    to.launch("INDEX_BITS", dx=5, dy=5, dz=10)
    to.event("ORDER_RANGE", lambda: core.write_register("ORDER_SWAP", 3 << 8 | 1))
    to.start(cycles=LONG)
    while not any(sms.running):
        core.register("ROOM")
    to.event("ORDER_BUSY", lambda: core.write_register("ORDER_SWAP", 1 << 8))
    to.loop("NO_LOOP", 0, 0)
    return to.found


def rounds(core, sms, cores):
    """Rounds of the mailbox that go wrong, each with what a worker reads after it."""
    to, found = Provoker(core, sms, cores), {}

    def outcome(section=0):
        return list(astuple(core.wait(section)))

    def run(code=1, section=0, **task):
        core.submit_task(section, code, 0, **task)
        return outcome(section)

    cores.holds = True
    core.submit_task(0, 14, 0, parts=2)
    refused = core.register("REFUSED")
    found["ring while busy"] = [_refused(core, "DOORBELL"), _refused(core, "T1")]
    found["refused"] = core.register("REFUSED") - refused
    cores.holds = False
    found["the task that was busy"] = outcome()
    to.opcode("opcode", 255)
    found["unknown opcode"] = to.found["opcode"]
    to.opcode("disconnect", 8)
    found["disconnect"] = [to.found["disconnect"], run(), run()]
    core.reset_units(1)
    found["connected again"] = run()
    found["a core fails"] = run(13, parts=3)
    cores.holds = True
    found["a core does not arrive"] = run(14, parts=2)
    found["while it is missing"] = run(parts=4)
    cores.holds = False
    while core.register("UNIT_STATE"):
        pass
    found["after its late arrival"] = run(parts=4)
    found["no parts"] = run(parts=0)
    found["more parts than cores"] = run(parts=5)
    found["more parts than cores but one"] = run(parts=4, skip_primary=True)
    found["a field too large"] = _too_large(core)
    return found


def _refused(core, name):
    try:
        core._write(core._section(0, name), 1)
    except Refused:
        return True
    return False


def _too_large(core):
    try:
        core.launch(0, descriptor((0,), kernel(stream=NO_STREAM)))
    except CommandFailed as error:
        return list(astuple(error.outcome))
    return None
