"""A stub of the core's registers with loops: it launches what a LOOP over its templates says.

What a LOOP launches comes from `expand`. Launches end at once.
"""

from collections import Counter, deque

from simt_host.c_calls import Refused
from warploom_golden.deferral.loop_expansion import expand
from warploom_spec.host_registers import config_crc

SECTION, TEMPLATES = 0x1000, 0x8000
RESET, LAUNCH_FAILED, LOOP_STOPPED, WAIT_AHEAD = 55, 59, 60, 29
FINISHED, FAILED = 0, 2


class LoopStub:
    """Registers, sections and templates, at the addresses of the register map.

    Parameters
    ----------
    config : Config
        The core's configuration.
    pace : int
        Launches of a loop between two reads of its doorbell.

    Attributes
    ----------
    accepted : Counter of int
        Launches of each stream so far.
    launches : list of (int, tuple of int, list)
        Section, words and awaited launches (stream, number) of each one that was accepted.
    failing : set of int
        Numbers of launches, in the order of acceptance, that fail.
    writes : list of int
        Addresses that were written.
    loop_words : list of int
        The words of the last LOOP.
    refuses : bool
        Whether the next access is refused.
    """

    def __init__(self, config, pace=1):
        self._config, self._pace = config, pace
        self.accepted, self.launches, self.failing = Counter(), [], set()
        self.writes = []
        self.refuses = False
        self._records = deque()
        self._epoch = 0
        sections = range(config.sections)
        self._task = {section: [0] * 32 for section in sections}
        self._outcome = {section: {} for section in sections}
        self.templates = [[0] * 64 for _ in range(config.loop_templates)]
        self._loops = {}
        self._identity = {0x00: 0x57415250, 0x04: 0x00030001, 0x08: config_crc(config)}

    def read32(self, address):
        """Return a register's word."""
        self._look()
        if address >= SECTION:
            section, offset = divmod(address - SECTION, 0x200)
            if offset == 0:
                self._go_on(section)
                return int(section in self._loops)
            return 0 if section in self._loops else self._outcome[section].get(offset, 0)
        if 0x40 <= address < 0x60:
            return self._records[0][(address - 0x40) // 4]
        state = {0x1C: self._epoch << 16, 0x30: len(self._records), 0x24: 0}
        return (self._identity | state)[address]

    def write32(self, address, value):
        """Write a register's word."""
        self._look()
        self.writes.append(address)
        if address >= TEMPLATES:
            slot, offset = divmod(address - TEMPLATES, 0x100)
            if any(slot in slots for _, slots, _ in self._loops.values()):
                raise Refused(hex(address))
            self.templates[slot][offset // 4] = value
        elif address >= SECTION:
            section, offset = divmod(address - SECTION, 0x200)
            if section in self._loops:
                raise Refused(hex(address))
            if offset:
                self._task[section][(offset - 0x80) // 4] = value
            else:
                self._ring(section)
        elif address == 0x34:
            self._records.popleft()
        elif address == 0x150:
            for section in [n for n in self._loops if value >> n & 1]:
                self._end(section, LOOP_STOPPED)
        elif address == 0x18:
            for section in list(self._loops):
                self._outcome[section] = {0x0C: RESET}
            self._loops, self.accepted = {}, Counter()
            self._epoch += 1
        else:
            assert address == 0x24

    def _look(self):
        if self.refuses:
            self.refuses = False
            raise Refused

    def _ring(self, section):
        words = self._task[section]
        self._outcome[section] = {}
        if words[0] & 0xFF == 4:
            first, last = words[2] & 0xFF, words[2] >> 8 & 0xFF
            size = (last - first) % len(self.templates) + 1
            slots = [(first + k) % len(self.templates) for k in range(size)]
            launches = expand([list(one) for one in self.templates], words)
            self._loops[section] = [launches, slots, []]
            self.loop_words = list(words)
            # Its words are undefined afterwards.
            self._task[section] = [0xDEADBEEF] * 32
            return
        code, ticket, number, _ = self._launch(section, words)
        self._outcome[section] = {0x0C: code, 0x10: ticket, 0x14: number << 16}

    def _go_on(self, section):
        """Let a section's loop launch some more, and end."""
        for _ in range(self._pace):
            if section not in self._loops:
                return
            launches, _, fates = self._loops[section]
            words = next(launches, None)
            if words is None:
                self._end(section, 0)
                return
            code, _, _, fate = self._launch(section, words)
            if code:
                self._end(section, code)
                return
            fates.append(fate)
            if fate != FINISHED:
                self._end(section, LAUNCH_FAILED)

    def _end(self, section, code):
        fates = self._loops.pop(section)[2]
        self._outcome[section] = {0x0C: code, 0x18: fates.count(FINISHED), 0x1C: len(fates)}

    def _launch(self, section, words):
        """Accept a launch, unless it waits for one yet to come; it ends at once."""
        stream, found = words[5] >> 16 & 0xFF, []
        for k in range(self._config.launch_waits):
            if not words[0] >> 8 + k & 1:
                continue
            other, count = words[28 + k] >> 8 & 0xFF, words[28 + k] >> 16
            if words[0] >> 12 + k & 1:
                count = self.accepted[other] - count
            behind = (self.accepted[other] - count) % (1 << 16)
            if behind >= 1 << 15:
                return WAIT_AHEAD, 0, 0, FINISHED
            found.append((other, self.accepted[other] - behind))
        self.accepted[stream] += 1
        self.launches.append((section, tuple(words), found))
        ticket, number = len(self.launches), self.accepted[stream] & 0xFFFF
        fate = FAILED if ticket - 1 in self.failing else FINISHED
        if not words[5] >> 28 & 1 or fate != FINISHED:
            head = fate << 8 | stream << 18 | 1 << 24
            self._records.append((ticket, head, 0, number, 0, 0, 0, 0))
        return 0, ticket, number, fate
