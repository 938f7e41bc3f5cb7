"""A host that reads every record before it takes it, and settles everything now and then.

A PREEMPT's record has no ticket.
"""

from collections import deque

from tb.host.commands import READ, WRITE, a_write
from tb.host.front_end_stimulus import CoreHost, Surroundings
from warploom_spec.host_registers import register_addresses
from warploom_spec.queue import RecordKind

#: What this host alone reads or writes, and nobody by chance.
RECORDS = ("RECORD0", "RECORD1", "RECORD_POP", "CONTROL")
#: A record's number and times: the host reads them once RECORD0 and RECORD1 have shown one.
TIMES = ("RECORD3", "RECORD5", "RECORD6", "RECORD7")
SETTLES = (300, 1200)


class DiligentHost(CoreHost):
    """Commands at random, and records in their order: read, then taken.

    To settle it rings nothing more, resets softly, waits until that has ended, and takes the
    records until none is left.
    """

    #: Fewest and most writes from one settling to the next.
    settles = SETTLES

    def __init__(self, config, rng):
        self._registers = register_addresses(config)
        super().__init__(config, rng)

    def restart(self):
        """Forget what is under way."""
        super().restart()
        self._due = {"read": deque(), "write": deque()}
        self._taking = False
        self._ticket = 0
        #: What is waited for while it settles; empty while it does not.
        self._settling = ""
        #: Read addresses taken when CONTROL was answered: a STATE of before says nothing.
        self._reset_at = 0
        self._left = self._rng.randint(*self.settles)

    def heard(self, access):
        """See an access that is answered."""
        super().heard(access)
        for name in (*RECORDS, "STATE"):
            if access.address == self._registers[name]:
                getattr(self, f"_hear_{name.lower()}")(access)
        times = [self._registers[name] for name in TIMES]
        if self._taking and not access.is_write and access.address in times:
            self._hear_times(access)

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

    def _hear_times(self, access):
        """A soft reset refuses reads: the record is read again then."""
        self._whole_record &= access.okay
        if access.address == self._registers[TIMES[-1]]:
            self._taking = self._whole_record
            if self._taking:
                self._due["write"].append(self._whole("RECORD_POP"))

    def _hear_record_pop(self, access):
        self._taking = False

    def _hear_control(self, access):
        if self._settling == "control":
            self._settling = "state" if access.okay else "refused"
            self._reset_at = self._bus.taken["ar"]

    def _hear_state(self, access):
        waits = self._settling in ("state", "refused") and access.age >= self._reset_at
        if waits and not access.data & 1:
            self._settling = "records" if self._settling == "state" else "begins"

    def _whole(self, name):
        address = self._registers[name] // 4
        return WRITE.pack({"valid": 1, "address": address, "data": 1, "strobes": 15})

    def write(self):
        if self._due["write"]:
            return self._due["write"].popleft()
        self._left -= 1
        if self._left < 0 and not self._program and not self._settling:
            self._settling = "begins"
            self._left = self._rng.randint(*self.settles)
        if self._settling == "begins":
            self._settling = "control"
            return self._whole("CONTROL")
        if self._settling:
            # Does nothing: no byte is written.
            return a_write(0, "T0", 0, strobes=0)
        word = super().write()
        while 4 * WRITE.unpack(word)["address"] in self._own():
            word = super().write()
        return word

    def read(self):
        if self._due["read"]:
            return self._due["read"].popleft()
        draw = self._rng.random()
        if self._settling in ("state", "refused") and draw < 0.5:
            return self._read("STATE")
        if not self._taking and draw < (0.9 if self._settling == "records" else 0.2):
            self._taking = True
            self._due["read"].append(self._read("RECORD1"))
            return self._read("RECORD0")
        word = super().read()
        while 4 * READ.unpack(word)["address"] in self._own():
            word = super().read()
        return word

    def _own(self):
        return [self._registers[name] for name in (*RECORDS, *TIMES)]

    def _read(self, name):
        return READ.pack({"valid": 1, "address": self._registers[name] // 4})


class DiligentSurroundings(Surroundings):
    """The same with such a host."""

    host = DiligentHost
