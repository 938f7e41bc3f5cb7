"""A ledger of a host's tickets for the whole core; it sees only the bus and the SM ports."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from warploom_golden.oracles.axil_bus import Access
from warploom_golden.oracles.block_state import State
from warploom_golden.oracles.host_blocks import HostBlocks
from warploom_golden.oracles.host_launch import Launch
from warploom_spec.config import Config
from warploom_spec.host_commands import FIRST_RELATIVE_FLAG
from warploom_spec.host_map import OFFSETS, SECTION_BASE, SECTION_BYTES
from warploom_spec.queue import RecordKind
from warploom_spec.queue_packets import FINAL_RECORD_WORDS, WAIT_BITS

Record = Mapping[str, int]
#: A launch's number, as hosts see it, is modulo so many.
COUNTS: Final = 1 << WAIT_BITS
#: The record's word with the launch's number, where there are loops.
NUMBER_WORD: Final = 3


class HostLedger(HostBlocks):
    """Keeps account of FrontEnd's tickets, blocks and records, and raises at the first fault.

    The ledger watches ``axil`` and the SM ports. A host must read RECORD0, RECORD1 and RECORD5 to
    RECORD7, then write RECORD_POP. It must wait for the pop's response before it reads a record
    again. It resets softly only to settle: it rings nothing until the reset has ended and no
    record is left. Beside `HostBlocks`' rules these are checked:

    - A launch begins anew only after its stream was killed, with none of its blocks out. Its
      record says so.
    - A record's times are in order: accepted, first offer, made; records come in the order in
      which they were made.
    - Where there are loops, a record's number is the launch's in its stream.
    - A launch that began did so after every launch that its pairs name had ended.

    Parameters
    ----------
    config : Config
        Register map, widths and sizes.

    Raises
    ------
    LedgerError
        From `see`; the message names cycle and ticket.
    """

    def __init__(self, config: Config):
        super().__init__(config)
        names = ["commands", "records of PREEMPTs", "launches that began anew", "waits", "times"]
        names += ["numbers"] * config.has_loops
        self._counts |= {f"host ledger: {name}": 0 for name in names}

    def reset(self) -> None:
        """Forget all launches; the counts stay."""
        super().reset()
        #: Of each stream the launch that had a block last.
        self._latest: dict[int, Launch] = {}
        self._words_read: dict[int, int] = {}
        self._began_anew: Counter[int] = Counter()
        self._made: int | None = None
        #: Records of this epoch by ticket.
        self._ended_here: dict[int, Record] = {}
        #: Their numbers in their streams, if they were read; and the first ticket of this epoch.
        self._numbers: dict[int, int] = {}
        self._first_here = 1

    # The SMs

    def _begin_again(self, launch: Launch, stream: int, block: tuple[int, int, int]) -> None:
        self._latest[stream] = launch
        again = block == (0, 0, 0) and launch.offered and launch.next_block != block
        if launch.killed and again:
            self._demand(not launch.states[State.OPEN], f"{launch.ticket} begins anew with blocks")
            launch.begin_anew()
            self._began_anew[launch.ticket] += 1
            self._counts["host ledger: launches that began anew"] += 1

    def _match(self, launch: Launch) -> None:
        """Find a launch's command; what it waits for is known if no other one could be its own.

        Commands that were refused are among those that were rung.
        """
        if launch.need is not None:
            return
        words = launch.words
        loops = (self._known(task) for _, task in self._loops.candidates())
        alike = [
            [command.get(name) for name in self._command.by_name if name not in words]
            for command in (*self._rung, *loops)
            if all(command[name] == words[name] for name in command.keys() & words.keys())
        ]
        super()._match(launch)
        if any(other != alike[0] for other in alike):
            launch.command = None

    def _see_kill(self, kill: int) -> None:
        super()._see_kill(kill)
        for stream, launch in self._latest.items():
            if kill >> stream & 1:
                launch.killed = True

    # Records

    def _see_section(self, access: Access) -> None:
        rings = (access.address - SECTION_BASE) % SECTION_BYTES == OFFSETS["DOORBELL"]
        self._counts["host ledger: commands"] += rings and access.data == 1
        super()._see_section(access)

    def _see_read(self, access: Access) -> None:
        names = {self._registers[f"RECORD{k}"]: k for k in range(FINAL_RECORD_WORDS)}
        if access.address not in names:
            super()._see_read(access)
            return
        number = names[access.address]
        if number == 0:
            self._words_read = {}
        self._words_read[number] = access.data
        if number == 0:
            self._shown = [access.data]
        elif number == 1 and len(self._shown) == 1:
            self._shown.append(access.data)
            over = self._ended is not None and access.age > self._ended + 1
            if self._shown == [0, 0] and over:
                self._settle()

    def _settle(self) -> None:
        super()._settle()
        self._check_waits()
        self._ended_here, self._numbers = {}, {}
        self._first_here = max(self._records, default=0) + 1

    def _take_record(self) -> None:
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
                if self._config.has_loops and NUMBER_WORD in words:
                    self._numbers[shown[0]] = record["word3"]
        super()._take_record()

    def _check_times(self, record: Record) -> None:
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

    def _check_waits(self) -> None:
        """Check what each launch of this epoch waited for; all have their records."""
        by_stream: dict[int, list[int]] = {}
        for ticket in range(self._first_here, max(self._records, default=0) + 1):
            # A quiet one that finished has no record, but was offered.
            record = self._ended_here.get(ticket)
            stream = record["stream"] if record else self._launches[ticket].stream
            by_stream.setdefault(stream, []).append(ticket)
            number = len(by_stream[stream]) % COUNTS
            if ticket in self._numbers:
                said = self._numbers[ticket]
                text = f"ticket {ticket} is {number} in its stream, not {said}"
                self._demand(said == number, text)
                self._counts["host ledger: numbers"] += 1
        for ticket, record in self._ended_here.items():
            launch = self._launches.get(ticket)
            if launch is not None and launch.command is not None and record["offered"]:
                self._check_pairs(launch, record, by_stream)

    def _check_pairs(
        self, launch: Launch, record: Record, by_stream: Mapping[int, list[int]]
    ) -> None:
        command = launch.command or {}
        for k in range(self._config.launch_waits):
            names = ("flags", f"wait{k}_stream", f"wait{k}_count")
            if any(name not in command for name in names) or not command["flags"] >> k & 1:
                continue
            stream, count = (command[name] for name in names[1:])
            before = [one for one in by_stream.get(stream, []) if one < launch.ticket]
            behind = (len(before) - count) % COUNTS
            if self._config.has_loops and command["flags"] >> FIRST_RELATIVE_FLAG + k & 1:
                behind = count
            self._demand(behind < COUNTS // 2, f"ticket {launch.ticket}: a wait ahead")
            for awaited in before[: max(0, len(before) - behind)]:
                if awaited not in self._ended_here:
                    continue
                made = self._ended_here[awaited]["made"]
                text = f"ticket {launch.ticket} did not wait for {awaited}"
                self._demand(made < record["first_offer"], text)
                self._counts["host ledger: waits"] += 1
