"""A bus that posts writes, in front of a stand-in core that launches kernels at once."""

from dataclasses import dataclass, field

from simt_host.c_calls import Refused
from warploom_spec import Config
from warploom_spec.host_map import section_address
from warploom_spec.host_registers import register_addresses

#: Cycles from a posted write to the cycle in which the core sees it.
LATE = 30
#: Cycles that a command, or a soft reset, takes.
WORKS = 3


@dataclass
class PostedBus:
    """Section 0, the final records and the soft reset of a core, behind posted writes.

    An access takes a cycle. A read overtakes the writes that are under way. The core has launched
    `ticket` kernels before; each further one ends at once, and its record waits.
    """

    config: Config
    ticket: int = 42
    now: int = 0
    busy_until: int = 0
    resetting_until: int = 0
    records: list[int] = field(default_factory=list)
    posted: list[tuple[int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        registers = register_addresses(self.config)
        self._doorbell = section_address(0, "DOORBELL")
        self._pop, self._control = registers["RECORD_POP"], registers["CONTROL"]
        self._reads = {
            self._doorbell: lambda: int(self.now < self.busy_until),
            section_address(0, "RESULT0"): lambda: self.ticket,
            registers["RECORDS"]: lambda: len(self.records),
            registers["RECORD0"]: lambda: self.records[0],
            registers["STATE"]: lambda: int(self.now < self.resetting_until),
        }

    def read32(self, address: int) -> int:
        """Read the core as it is now."""
        self._step()
        return self._reads.get(address, lambda: 0)()

    def write32(self, address: int, value: int) -> None:
        """Post a write."""
        self._step()
        self.posted.append((self.now + LATE, address, value))

    def barrier(self) -> None:
        """Wait for the responses of all writes."""
        while self.posted:
            self._step()

    def _step(self) -> None:
        self.now += 1
        while self.posted and self.posted[0][0] <= self.now:
            _, address, value = self.posted.pop(0)
            self._arrives(address, value)

    def _arrives(self, address: int, value: int) -> None:
        if address == self._doorbell:
            self.ticket += 1
            self.busy_until = self.now + WORKS
            self.records.append(self.ticket)
        elif address == self._pop:
            self.records.pop(0)
        elif address == self._control and value & 1:
            self.resetting_until = self.now + WORKS


@dataclass
class ShutBus(PostedBus):
    """A bus whose core another master resets: it refuses what arrives in some cycles.

    `barrier` tells of what was refused. `mixed` counts doorbells that rang though a word of their
    command was refused.
    """

    shut: range = range(0)
    mixed: int = 0
    refused: bool = False
    lost: bool = False

    def barrier(self) -> None:
        """Wait for the responses of all writes; raise `Refused` if one of them is an error."""
        super().barrier()
        if self.refused:
            self.refused = False
            raise Refused

    def _arrives(self, address: int, value: int) -> None:
        if self.now in self.shut:
            self.refused = self.lost = True
            return
        if address == self._doorbell:
            self.mixed += self.lost
            self.lost = False
        super()._arrives(address, value)
