"""Blocks of LaunchPath's launches, followed from the offers and the SMs' reports alone."""

from dataclasses import dataclass

from warploom_spec import BlockStatus, Config, layouts
from warploom_spec.layouts import PLACES


@dataclass(eq=False)
class Run:
    """A residence of a launch, from its first offer on.

    Attributes
    ----------
    place : int
        Its place.
    first, last : int or None
        Cycles of its first offer, and of its last report that counts.
    first_clock : int
        The clock in the cycle of its first offer.
    over : bool
        Its launch was put back since, or has its record.
    offered, ok, faults, killed, lost : int
        Blocks that were offered, and that were reported so, or lost with their SM.
    """

    place: int
    first: int
    last: int | None = None
    first_clock: int = 0
    over: bool = False
    offered: int = 0
    ok: int = 0
    faults: int = 0
    killed: int = 0
    lost: int = 0

    @property
    def out(self) -> int:
        """Return its blocks that have not come back."""
        return self.offered - self.ok - self.faults - self.killed - self.lost

    def cycles(self) -> int:
        """Return the cycles from its first offer to its last report."""
        return 0 if self.last is None else self.last - self.first


@dataclass(eq=False)
class Held:
    """A block on an SM, or offered to it."""

    run: Run
    taken: int | None = None
    reported: bool = False


class Blocks:
    """All blocks that are out.

    Parameters
    ----------
    config : Config
        The SMs.

    Attributes
    ----------
    lost : int
        Mask of the SMs that are lost.
    """

    def __init__(self, config: Config):
        self._sms = range(config.sms)
        self._offer = layouts.block_offer(config)
        self._report = layouts.block_report(config)
        self._words = layouts.launch_words(config)
        self.lost = 0
        self.restart()

    def restart(self) -> None:
        """Forget all blocks; lost SMs stay lost."""
        self._slots: list[dict[int, Held]] = [{} for _ in self._sms]
        self._standing: list[Held | None] = [None for _ in self._sms]
        # The ticket in each place's words, and its residence.
        self._runs: list[tuple[int, Run] | None] = [None] * PLACES
        self._reports: list[tuple[int, int, int]] = []
        self._kill = 0

    def out(self) -> int:
        """Return how many blocks are out on SMs that are not lost."""
        live = (n for n in self._sms if not self.lost >> n & 1)
        return sum(not held.reported for n in live for held in self._slots[n].values())

    def see(
        self, cycle: int, inputs: dict[str, int], outputs: dict[str, int]
    ) -> list[tuple[int, dict[str, int], Run]]:
        """Take in a cycle; return ticket, offer and residence of each offer that is new."""
        self._see_losses(outputs["lost"])
        for n, slot, status in self._reports:
            self._return(n, slot, status, cycle - 1)
        found = []
        for n in self._sms:
            found += self._see_offer(n, cycle, inputs, outputs)
        self._reports = []
        for n in self._sms:
            if inputs[f"report__{n}__valid"]:
                report = self._report.unpack(inputs[f"report__{n}__payload"])
                self._reports.append((n, report["slot"], report["status"]))
        self._kill = outputs["kill"]
        return found

    def _see_losses(self, lost: int) -> None:
        """Count the blocks of an SM that is lost from this cycle on."""
        assert lost & self.lost == self.lost, "a lost SM comes back"
        for n in self._sms:
            if lost & ~self.lost & 1 << n:
                for held in self._slots[n].values():
                    held.run.lost += not held.reported
                    held.reported = True
        self.lost = lost

    def _return(self, n: int, slot: int, status: int, cycle: int) -> None:
        """Take in a report of the cycle before; only one of a block that runs counts."""
        held = self._slots[n].get(slot)
        if self.lost >> n & 1 or held is None or held.reported:
            return
        if held.taken is None or held.taken > cycle:
            return
        held.reported = True
        run, how = held.run, BlockStatus.of(status)
        run.last = cycle
        killed = self._kill >> run.place & 1
        if how is BlockStatus.OK:
            run.ok += 1
        elif how is BlockStatus.KILLED and killed:
            run.killed += 1
        else:
            run.faults += 1

    def _see_offer(
        self, n: int, cycle: int, inputs: dict[str, int], outputs: dict[str, int]
    ) -> list[tuple[int, dict[str, int], Run]]:
        """Take in what is offered to an SM."""
        if not outputs[f"offer__{n}__valid"]:
            assert self._standing[n] is None, f"SM {n}: an offer was withdrawn"
            return []
        found = []
        held = self._standing[n]
        if held is None:
            fields = self._offer.unpack(outputs[f"offer__{n}__payload"])
            place, slot = fields["place"], fields["slot"]
            before = self._slots[n].get(slot)
            assert before is None or before.reported, f"SM {n}: slot {slot} is held"
            ticket = self._words.unpack(outputs[f"words__{place}"])["ticket"]
            run = self._run(place, ticket, cycle)
            run.offered += 1
            held = self._slots[n][slot] = self._standing[n] = Held(run)
            if self.lost >> n & 1:
                run.lost += 1
                held.reported = True
            found = [(ticket, fields, run)]
        if inputs[f"offer__{n}__ready"]:
            held.taken = cycle
            self._standing[n] = None
        return found

    def _run(self, place: int, ticket: int, cycle: int) -> Run:
        """Return the residence of a place; a launch that comes again begins another one."""
        known = self._runs[place]
        if known is None or known[0] != ticket or known[1].over:
            self._runs[place] = known = (ticket, Run(place, cycle))
        return known[1]
