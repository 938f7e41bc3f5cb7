"""A stub of the core's registers: it accepts each launch, notes what it waits for, and ends it."""

from collections import Counter, deque

from warploom_spec import preset
from warploom_spec.host_registers import config_crc

DOORBELL, TASK_REGISTER = 0x1000, 0x1080
WAIT_AHEAD = 29
_IDENTITY = {0x00: 0x57415250, 0x04: 0x00030001, 0x08: config_crc(preset("tiny"))}


class StreamStub:
    """Registers of one section and of the records, at the addresses of the register map.

    Parameters
    ----------
    head : int
        Fate, code and so on of each record, as in its word 1.

    Attributes
    ----------
    accepted : Counter of int
        Launches of each stream so far, in full: the registers have the low 16 bits.
    awaited : dict of (int, int) to list of (int, int)
        By launch (stream, number), of those with pairs: the launches that it waits for. A count of
        16 bits means the latest launch that it fits.
    """

    def __init__(self, head=0):
        self._head = head
        self.accepted = Counter()
        self.awaited = {}
        self._task = [0] * 32
        self._outcome = dict.fromkeys((0x1000, 0x1004, 0x1008, 0x100C, 0x1010, 0x1014), 0)
        self._records = deque()

    def read32(self, address):
        """Return a register's word."""
        if address in self._outcome:
            return self._outcome[address]
        if 0x40 <= address < 0x60:
            return self._records[0][(address - 0x40) // 4]
        return {**_IDENTITY, 0x1C: 0, 0x30: len(self._records)}[address]

    def write32(self, address, value):
        """Write a register's word."""
        if TASK_REGISTER <= address < TASK_REGISTER + 0x80:
            self._task[(address - TASK_REGISTER) // 4] = value
        elif address == 0x34:
            self._records.popleft()
        else:
            assert (address, value) == (DOORBELL, 1)
            self._launch()

    def _launch(self):
        """Accept the launch in the task register, unless it waits for launches yet to come."""
        stream = self._task[5] >> 16 & 0xFF
        found, ahead = [], False
        for word in self._task[28 : 28 + (self._task[0] >> 8 & 0xFF).bit_count()]:
            other, count = word >> 8 & 0xFF, word >> 16
            behind = (self.accepted[other] - count) % (1 << 16)
            ahead |= behind >= 1 << 15
            found.append((other, self.accepted[other] - behind))
        ticket = 0
        if not ahead:
            self.accepted[stream] += 1
            ticket = self.accepted.total()
            self._records.append((ticket, self._head | stream << 18, 0, 0, 0, 0, 0, 0))
            if found:
                self.awaited[stream, self.accepted[stream]] = found
        self._outcome[0x100C] = WAIT_AHEAD * ahead
        self._outcome[0x1010] = ticket
        self._outcome[0x1014] = (self.accepted[stream] & 0xFFFF) << 16
