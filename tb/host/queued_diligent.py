"""A host of version 2 that reads every record, a ledger of what it reads, and both on the model."""

from collections import Counter
from types import SimpleNamespace

from tb.host.diligent_host import DiligentHost
from tb.host.queued_stimulus import COUNTS, QueuedCoreHost, QueuedSurroundings
from tb.support.dispatch_configs import Observers, config_of
from warploom.host._queued_front_end import QueuedFrontEnd
from warploom_golden.host import QueuedFrontEnd as Model
from warploom_golden.oracles import HostLedger
from warploom_golden.oracles.ledger_entry import State
from warploom_sim.cosim.lockstep import Case, Context, Ports
from warploom_sim.cosim.lockstep.validity import Validity
from warploom_spec.host_map import OFFSETS, SECTION_BASE, SECTION_BYTES
from warploom_spec.queue import RecordKind
from warploom_spec.queue_host import queued_launch_words, queued_registers
from warploom_spec.queue_packets import FINAL_RECORD_WORDS, final_record_words

#: Words of a record that the host reads once RECORD0 and RECORD1 have shown one.
TIMES = ("RECORD5", "RECORD6", "RECORD7")


class QueuedDiligentHost(DiligentHost, QueuedCoreHost):
    """Commands at random, and records in their order; a PREEMPT's record has no ticket."""

    settles = 300, 1200

    def heard(self, access):
        """See an access that is answered."""
        QueuedCoreHost.heard(self, access)
        super().heard(access)
        if access.is_write or not self._taking:
            return
        # A soft reset refuses reads: the record is read again then.
        if access.address in (self._registers[name] for name in TIMES):
            self._whole_record &= access.okay
        if access.address == self._registers[TIMES[-1]]:
            self._taking = self._whole_record
            if self._taking:
                self._due["write"].append(self._whole("RECORD_POP"))

    def _hear_record0(self, access):
        self._ticket = access.data if access.okay else 0

    def _hear_record1(self, access):
        preempt = access.data >> 11 & 7 == RecordKind.PREEMPT
        self._taking = bool(access.okay and (self._ticket or preempt))
        self._whole_record = True
        if self._taking:
            self._due["read"].extend(self._read(name) for name in TIMES)
        elif access.okay and self._settling == "records":
            self._settling = ""

    def _own(self):
        return [*super()._own(), *(self._registers[name] for name in TIMES)]


class QueuedDiligentSurroundings(QueuedSurroundings):
    """The same with such a host."""

    host = QueuedDiligentHost


class QueuedHostLedger(HostLedger):
    """HostLedger for version 2 of the map: launches that are put back, PREEMPTs, times, waits.

    A host reads RECORD5 to RECORD7 after RECORD1. It resets softly only to settle. These rules
    are checked, too:

    - A launch begins anew only after its place was killed, with none of its blocks out. Its
      record says so.
    - A record's times are in order: accepted, first offer, made; records come in the order in
      which they were made.
    - A launch that began did so after every launch that its pairs name had ended.
    """

    def __init__(self, config):
        super().__init__(config)
        self._command = queued_launch_words(config)
        self._record_words = final_record_words(config)
        self._registers = {word.name: word.offset for word in queued_registers(config)}
        names = ("commands", "records of PREEMPTs", "launches that began anew", "waits", "times")
        self._counts |= {f"host ledger: {name}": 0 for name in names}

    def reset(self):
        """Forget all launches; the counts stay."""
        super().reset()
        self._place_of = [None, None]
        self._killed_before = 0
        self._words_read = {}
        self._began_anew = Counter()
        self._made = None
        #: Records of this epoch by ticket.
        self._ended_here = {}

    def see(self, cycle, inputs, outputs):
        """Take in one cycle without reset."""
        super().see(cycle, inputs, outputs)
        self._killed_before = outputs["kill"]

    # The SMs

    def _begin_again(self, launch, place, block):
        self._place_of[place] = launch
        again = block == (0, 0, 0) and launch.offered and launch.next_block != block
        if launch.killed and again:
            self._demand(not launch.states[State.OPEN], f"{launch.ticket} begins anew with blocks")
            launch.offered, launch.killed = 0, False
            launch.states = dict.fromkeys(State, 0)
            self._began_anew[launch.ticket] += 1
            self._counts["host ledger: launches that began anew"] += 1

    def _match(self, launch):
        """Find a launch's command; what it waits for is known if no other one could be its own.

        Commands that were refused are among those that were rung.
        """
        if launch.need is not None:
            return
        words = launch.words
        alike = [
            [command.get(name) for name in self._command.by_name if name not in words]
            for command in self._rung
            if all(command[name] == words[name] for name in command.keys() & words.keys())
        ]
        super()._match(launch)
        if any(other != alike[0] for other in alike):
            launch.command = None

    def _see_kill(self, kill):
        super()._see_kill(kill)
        for place, launch in enumerate(self._place_of):
            if launch is not None and kill >> place & 1:
                launch.killed = True

    # Records

    def _see_section(self, access):
        rings = (access.address - SECTION_BASE) % SECTION_BYTES == OFFSETS["DOORBELL"]
        self._counts["host ledger: commands"] += rings and access.data == 1
        super()._see_section(access)

    def _see_read(self, access):
        names = {self._registers[f"RECORD{k}"]: k for k in range(FINAL_RECORD_WORDS)}
        if access.address not in names:
            super()._see_read(access)
            return
        number = names[access.address]
        self._words_read[number] = access.data
        if number == 0:
            self._shown = [access.data]
        elif number == 1 and len(self._shown) == 1:
            self._shown.append(access.data)
            over = self._ended is not None and access.age > self._ended + 1
            if self._shown == [0, 0] and over:
                self._settle()

    def _settle(self):
        super()._settle()
        self._check_waits()
        self._ended_here = {}

    def _take_record(self):
        shown, words = list(self._shown), dict(self._words_read)
        if len(shown) == 2:
            record = self._record_words.unpack([words.get(k, 0) for k in range(FINAL_RECORD_WORDS)])
            if shown[0] or record["kind"] == RecordKind.PREEMPT:
                self._check_times(record)
            if record["kind"] == RecordKind.PREEMPT:
                self._demand(not shown[0], "a PREEMPT's record has a ticket")
                self._counts["host ledger: records of PREEMPTs"] += 1
            elif shown[0]:
                again = min(7, self._began_anew[shown[0]])
                said = record["kills"]
                # A launch that was killed may end before it begins anew.
                text = f"ticket {shown[0]} began anew {again} times; {said} kills"
                self._demand(again <= said, text)
                self._ended_here[shown[0]] = record
        super()._take_record()

    def _check_times(self, record):
        """Check a record's times; the clock does not wrap in a run."""
        who = f"record of {record['ticket']}"
        made = record["made"]
        self._demand(self._made is None or self._made < made, f"{who}: made {made}")
        self._made = made
        if record["kind"] == RecordKind.LAUNCH:
            self._demand(record["accepted"] < made, f"{who}: accepted {record['accepted']}")
        if record["kind"] == RecordKind.LAUNCH and record["offered"]:
            ordered = record["accepted"] < record["first_offer"] < made
            self._demand(ordered, f"{who}: {record}")
            self._counts["host ledger: times"] += 1

    def _check_waits(self):
        """Check what each launch of this epoch waited for; all have their records."""
        by_stream = {}
        for ticket in sorted(self._ended_here):
            by_stream.setdefault(self._ended_here[ticket]["stream"], []).append(ticket)
        for ticket, record in self._ended_here.items():
            launch = self._launches.get(ticket)
            if launch is not None and launch.command is not None and record["offered"]:
                self._check_pairs(launch, record, by_stream)

    def _check_pairs(self, launch, record, by_stream):
        command = launch.command
        for k in range(self._config.launch_waits):
            names = ("flags", f"wait{k}_stream", f"wait{k}_count")
            if any(name not in command for name in names) or not command["flags"] >> k & 1:
                continue
            stream, count = (command[name] for name in names[1:])
            before = [one for one in by_stream.get(stream, []) if one < launch.ticket]
            behind = (len(before) - count) % COUNTS
            self._demand(behind < COUNTS // 2, f"ticket {launch.ticket}: a wait ahead")
            for awaited in before[: max(0, len(before) - behind)]:
                made = self._ended_here[awaited]["made"]
                text = f"ticket {launch.ticket} did not wait for {awaited}"
                self._demand(made < record["first_offer"], text)
                self._counts["host ledger: waits"] += 1


QUEUED_HOST_LEDGERS = Observers(QueuedHostLedger)


def play(config, seed, cycles, profile="few_stops", model=Model, ledger=QueuedHostLedger):
    """Run the model alone in random surroundings with the ledger beside it; return its counts."""
    chosen = config_of(config)
    case = Case(
        make=model,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        options={"profile": profile, "hurry": True},
    )
    ports = Ports.of(QueuedFrontEnd(chosen))
    surroundings = QueuedDiligentSurroundings(Context(ports, case, case.rng("stimulus")))
    device, books = model(chosen), ledger(chosen)
    quiet, outputs = Validity(ports).quiet, None
    for cycle in range(cycles):
        inputs = surroundings.next(outputs)
        outputs = quiet({name: value or 0 for name, value in device.outputs(inputs).items()})
        books.see(cycle, inputs, outputs)
        device.tick(inputs)
    return SimpleNamespace(counts=books.counts(), host=surroundings._host)
