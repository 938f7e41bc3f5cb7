"""What a host rang, which blocks the SMs got of it, and how they ended."""

from collections.abc import Mapping
from typing import NoReturn

from warploom_golden.oracles.axil_bus import Access, AxilBus
from warploom_golden.oracles.block_state import LedgerError, State
from warploom_golden.oracles.host_launch import HeldBlock, Launch
from warploom_golden.oracles.host_loops import HostLoops, Task
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import BlockStatus, ErrorCode
from warploom_spec.host_commands import Opcode, launch_words
from warploom_spec.host_map import OFFSETS, SECTION_BASE, SECTION_BYTES, TEMPLATE_BASE
from warploom_spec.host_registers import register_addresses
from warploom_spec.queue import FinalFate
from warploom_spec.queue_packets import final_record_words
from warploom_spec.resident_packets import resident_block
from warploom_spec.resources import AMOUNT_FIELDS, BLOCK_AMOUNTS, block_amounts, capacities

Ports = Mapping[str, int]


class HostBlocks:
    """Keeps account of FrontEnd's tickets and blocks; `HostLedger` adds what begins anew.

    These rules are checked:

    - Every block belongs to a launch that a host rang, and has the launch's words.
    - Each block is offered once, in the order of the block ids, with its number in the grid.
    - No SM is over-committed.
    - A ticket has at most one record.
    - Every block of a finished launch was reported ``ok``; of an aborted launch, not every block.
    - When the record is read, none of the launch's blocks is out, except on a lost SM.
    - When a soft reset has ended and no record is left, every ticket has its record: all from 1 to
      the highest that a host was given or an SM saw. A quiet launch that finished has none.

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
        self._config = config
        self._bus = AxilBus(config)
        self._block = resident_block(config)
        self._report = layouts.block_report(config)
        self._words = layouts.launch_words(config)
        self._command = launch_words(config)
        self._record_words = final_record_words(config)
        self._registers = register_addresses(config)
        self._sizes = tuple(capacities(config).values())
        self._counts = dict.fromkeys(
            (
                *(f"host ledger: record says {fate.name.lower()}" for fate in FinalFate),
                "host ledger: blocks",
                "host ledger: settled",
                "host ledger: tickets read",
                *("host ledger: launches of loops", "host ledger: quiet") * config.has_loops,
            ),
            0,
        )
        self._loops = HostLoops(config)
        # Each section's task registers; None: not known. A reset does not change them.
        self._tasks: list[list[int | None]] = [
            [None] * self._command.words for _ in range(config.sections)
        ]
        self.reset()

    def reset(self) -> None:
        """Forget all launches; the counts stay."""
        for address in self._bus.unanswered:
            section, offset = divmod(address - SECTION_BASE, SECTION_BYTES)
            number = (offset - OFFSETS["T0"]) // 4
            if 0 <= section < self._config.sections and 0 <= number < self._command.words:
                # The reset came before the response: the write may have been performed or not.
                self._tasks[section][number] = None
            self._loops.write(address, None)
        self._loops.restart()
        self._bus.reset()
        self._now = 0
        #: Launches that a host rang and of which no block was offered yet.
        self._rung: list[dict[str, int]] = []
        self._launches: dict[int, Launch] = {}
        self._records: dict[int, FinalFate] = {}
        self._given: set[int] = set()
        self._shown: list[int] = []
        self._slots: list[dict[int, HeldBlock]] = [{} for _ in range(self._config.sms)]
        #: Cycle and status of the last report of a slot that held no block.
        self._strays: dict[tuple[int, int], tuple[int, BlockStatus]] = {}
        #: Whether a doorbell's address was taken after the last address of CONTROL.
        self._rings = False
        #: Count of read addresses taken when the last soft reset began, and the one of the read
        #: that showed its end; None: not yet.
        self._begun: int | None = None
        self._ended: int | None = None

    def counts(self) -> dict[str, int]:
        """Return how often each rule was checked."""
        return dict(self._counts)

    def see(self, cycle: int, inputs: Ports, outputs: Ports) -> None:
        """Take in one cycle without reset."""
        self._now = cycle
        for access in self._bus.see(inputs, outputs):
            if access.is_write:
                self._see_write(access)
            elif access.okay:
                self._see_read(access)
        self._note_write_addresses()
        for n in range(self._config.sms):
            if outputs["offer"] >> n & 1:
                self._offered(n, outputs)
            if inputs[f"report__{n}__valid"] and outputs[f"report__{n}__ready"]:
                self._see_report(n, inputs[f"report__{n}__payload"], outputs["kill"])
        self._see_kill(outputs["kill"])

    def _fail(self, what: str) -> NoReturn:
        raise LedgerError(f"host ledger, cycle {self._now}: {what}")

    def _demand(self, holds: bool, what: str) -> None:
        if not holds:
            self._fail(what)

    # The bus

    def _note_write_addresses(self) -> None:
        """Note each write address when it is taken: from this cycle on the write may commit."""
        for address in self._bus.asked["aw"]:
            bell = address >= SECTION_BASE and (address - SECTION_BASE) % SECTION_BYTES == 0
            if bell or address == self._registers["CONTROL"]:
                self._rings = bell
                self._begun = self._ended = None

    def _see_write(self, access: Access) -> None:
        if access.address >= SECTION_BASE:
            if access.okay and access.strobes and access.address >= TEMPLATE_BASE:
                self._loops.write(access.address, access.data)
            elif access.okay and access.strobes:
                self._see_section(access)
            return
        acts = access.okay and access.data & 1 and access.strobes == 0b1111
        if access.address == self._registers["CONTROL"] and acts and not self._rings:
            self._begun = self._bus.taken["ar"]
        elif access.address == self._registers["RECORD_POP"] and acts:
            self._take_record()

    def _see_section(self, access: Access) -> None:
        """Keep a task register's word; note the launch of a doorbell that is rung."""
        section, offset = divmod(access.address - SECTION_BASE, SECTION_BYTES)
        task = self._tasks[section]
        if offset >= OFFSETS["T0"]:
            mask = sum(0xFF << 8 * byte for byte in range(4) if access.strobes >> byte & 1)
            number = (offset - OFFSETS["T0"]) // 4
            before = task[number]
            if before is not None or access.strobes == 0b1111:
                task[number] = (before or 0) & ~mask | access.data & mask
        elif access.data == 1:
            loops = self._loops.ring(section, task)
            if task[0] is None or task[0] & 0xFF == Opcode.LAUNCH:
                self._rung.append(self._known(task))
            if loops:
                # A loop writes words of its own.
                self._tasks[section] = [None] * len(task)
            for launch in self._launches.values():
                self._match(launch)

    def _known(self, task: Task) -> dict[str, int]:
        """Return those fields of a launch of which all words are known."""
        fields = self._command.unpack([word or 0 for word in task])
        unknown = {
            field.name
            for field in self._command.fields
            if any(task[piece.word] is None for piece in field.pieces())
        }
        return {name: value for name, value in fields.items() if name not in unknown}

    def _see_read(self, access: Access) -> None:
        address = access.address
        if address >= SECTION_BASE:
            if (address - SECTION_BASE) % SECTION_BYTES == OFFSETS["RESULT0"] and access.data:
                self._given.add(access.data)
                self._counts["host ledger: tickets read"] += 1
        elif address == self._registers["STATE"]:
            asked_after = self._begun is not None and access.age >= self._begun
            if asked_after and not access.data & 1:
                self._ended = access.age
        elif address == self._registers["RECORD0"]:
            self._shown = [access.data]
            # This read's address was taken after that of a read that showed the reset's end.
            if not access.data and self._ended is not None and access.age > self._ended:
                self._settle()
        elif address == self._registers["RECORD1"] and len(self._shown) == 1:
            self._shown.append(access.data)

    def _settle(self) -> None:
        """Check that every ticket has its record: no launch is under way any more."""
        self._counts["host ledger: settled"] += 1
        tickets = self._given | self._launches.keys() | self._records.keys()
        every = range(1, max(tickets, default=0) + 1)
        missing = [ticket for ticket in every if ticket not in self._records]
        for ticket in missing:
            launch = self._launches.get(ticket)
            silent = launch is not None and launch.may_be_whole and 1 in launch.quiet
            self._demand(silent, f"ticket {ticket} has no record")
            self._records[ticket] = FinalFate.FINISHED
            self._counts["host ledger: quiet"] += 1

    def _take_record(self) -> None:
        """Check the record that was read before this pop."""
        shown, self._shown = self._shown, []
        if len(shown) < 2 or not shown[0]:
            return
        fields = self._record_words.unpack([*shown, *[0] * (self._record_words.words - 2)])
        ticket, fate = fields["ticket"], FinalFate(fields["fate"])
        self._demand(ticket not in self._records, f"ticket {ticket} has two records")
        self._records[ticket] = fate
        self._counts[f"host ledger: record says {fate.name.lower()}"] += 1
        wrong = self._judge(self._launches.get(ticket), fate, fields["code"])
        self._demand(not wrong, f"ticket {ticket}, {fate.name}, code {fields['code']}: {wrong}")

    def _judge(self, launch: Launch | None, fate: FinalFate, code: int) -> str:
        """Return what is wrong with a record, or an empty string."""
        if launch is None:
            return "none of its blocks was offered" if fate is FinalFate.FINISHED else ""
        for block in (block for slots in self._slots for block in slots.values()):
            if block.launch is launch:
                self._end_early(block)
        out = launch.states[State.OPEN]
        if code == ErrorCode.SM_LOST:
            return "" if launch.killed else "it was not killed"
        if launch.need is None:
            return "nobody rang it"
        if out:
            return f"{out} blocks are out"
        if fate is FinalFate.FINISHED and launch.quiet == {1}:
            return "it is quiet"
        if fate is FinalFate.FINISHED:
            return "" if launch.may_be_whole else f"of {launch.count} blocks: {launch.states}"
        if code == ErrorCode.BLOCK_FAULT:
            return "" if launch.may_have_failed else "no block reported a fault"
        return "every block was reported ok" if launch.is_whole else ""

    # The SMs

    def _offered(self, n: int, outputs: Ports) -> None:
        """Check and enter a block that an SM is offered, and takes."""
        fields = self._block.unpack(outputs["block"])
        words = self._words.unpack(outputs["words"])
        ticket, slot = words["ticket"], fields["slot"]
        who = f"SM {n}, slot {slot}, ticket {ticket}"
        self._demand(ticket not in self._records, f"{who}: a block after its record")
        launch = self._launches.get(ticket)
        if launch is None:
            launch = self._launches[ticket] = Launch(ticket, words, stream=fields["stream"])
            self._match(launch)
        self._demand(words == launch.words, f"{who}: other launch words than before")
        block = fields["bx"], fields["by"], fields["bz"]
        self._begin_again(launch, fields["stream"], block)
        self._demand(launch.offered < launch.count, f"{who}: a block after the last one")
        self._demand(block == launch.next_block, f"{who}: {block}, want {launch.next_block}")
        number, want = fields["block_number"], launch.number_of(block)
        self._demand(number == want, f"{who}: block_number {number}, want {want}")
        before = self._slots[n].get(slot)
        if before:
            self._end_early(before)
        self._demand(before is None or before.ended, f"{who}: the slot is held")
        launch.offered += 1
        launch.states[State.OPEN] += 1
        self._counts["host ledger: blocks"] += 1
        self._slots[n][slot] = HeldBlock(launch, fields["stream"], self._early(n, slot))
        self._check_room(n)

    def _early(self, n: int, slot: int) -> BlockStatus | None:
        """Return the status of a report whose books may be written when a block of now runs.

        That is four cycles after the report, or later behind others; a block runs from 3 on.
        """
        cycle, status = self._strays.get((n, slot), (self._now, None))
        return status if self._now - cycle <= 1 + 2 * self._config.sms else None

    def _end_early(self, block: HeldBlock) -> None:
        """End a block that is over although no report came since its offer, if one came before."""
        if not block.ended and block.early is not None:
            block.end(block.early, killed=False)

    def _begin_again(self, launch: Launch, stream: int, block: tuple[int, int, int]) -> None:
        """Let a launch that was killed begin anew: none does, here."""

    def _match(self, launch: Launch) -> None:
        """Find the command of a launch: of those that may be it the one of which most is known."""
        if launch.need is not None:
            return
        every: list[tuple[tuple[int, int] | None, dict[str, int]]]
        every = [(None, command) for command in self._rung]
        every += ((key, self._known(task)) for key, task in self._loops.candidates())
        alike = [(key, command) for key, command in every if self._is_alike(launch, command)]
        if not alike:
            return
        key, command = max(alike, key=lambda one: len(one[1]))
        launch.quiet = self._quiet_of(launch)
        if key is None:
            self._rung.remove(command)
        else:
            self._loops.take(key)
            self._counts["host ledger: launches of loops"] += 1
        self._take(launch, command)

    def _take(self, launch: Launch, command: dict[str, int]) -> None:
        """Take a command as that of a launch."""
        known = dict.fromkeys(AMOUNT_FIELDS, 0) | command
        launch.need = block_amounts(known, launch.words["warps"], self._config)
        launch.command = command
        for n in range(self._config.sms):
            self._check_room(n)

    def _is_alike(self, launch: Launch, command: dict[str, int]) -> bool:
        """Return whether a command may be that of a launch."""
        both = command.keys() & launch.words.keys()
        # A field that is not known counts as 0; a block sees whole cells.
        known = dict.fromkeys(AMOUNT_FIELDS, 0) | command
        seen = known | {r.name: r.in_cells(known[r.name], self._config) for r in BLOCK_AMOUNTS}
        return all(seen[name] == launch.words[name] for name in both)

    def _quiet_of(self, launch: Launch) -> set[int]:
        """Return what ``quiet`` may be: of all commands that may be the launch's."""
        if not self._config.has_loops:
            return {0}
        alike = [command for command in self._rung if self._is_alike(launch, command)]
        said = [command.get("quiet") for command in alike]
        if len(set(said)) > 1:
            # Nobody knows any more whose the others are.
            for command in alike:
                command.pop("quiet", None)
        loops = (self._known(task) for _, task in self._loops.candidates())
        said += [command.get("quiet") for command in loops if self._is_alike(launch, command)]
        return {0, 1} if None in said else {one for one in said if one is not None}

    def _check_room(self, n: int) -> None:
        """Check that an SM has the resources that its blocks take."""
        held = [t for t in self._slots[n].values() if not t.ended and t.early is None]
        needs = [block.launch.need for block in held if block.launch.need]
        used = [sum(one) for one in zip(*needs, strict=True)]
        fits = all(have <= size for have, size in zip(used, self._sizes, strict=False))
        self._demand(fits, f"SM {n}: over-committed, {used} of {self._sizes}")

    def _see_report(self, n: int, payload: int, kill: int) -> None:
        fields = self._report.unpack(payload)
        block, status = self._slots[n].get(fields["slot"]), BlockStatus.of(fields["status"])
        if block is None or block.ended:
            self._strays[n, fields["slot"]] = self._now, status
            return
        block.end(status, killed=bool(kill >> block.stream & 1))

    def _see_kill(self, kill: int) -> None:
        if not kill:
            return
        for slots in self._slots:
            for block in slots.values():
                if not block.ended and kill >> block.stream & 1:
                    block.launch.killed = True
