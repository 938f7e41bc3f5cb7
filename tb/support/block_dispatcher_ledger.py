"""The ledger of BlockDispatcher: keeps account of each block, at the ports alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from warploom_spec import (
    BlockStatus,
    Config,
    ErrorCode,
    Fate,
    layouts,
    resident_packets,
    timing,
)
from warploom_spec.resources import capacities


@dataclass
class _Run:
    """A launch from its start to its end."""

    fields: dict[str, int]
    offered: int = 0
    out: int = 0
    not_ok: bool = False
    fault: bool = False
    sm_lost: bool = False
    stopped: int | None = None
    held: int | None = None
    placed: list["_Placed"] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.fields["gx"] * self.fields["gy"] * self.fields["gz"]

    @property
    def next_block(self) -> tuple[int, int, int]:
        gx, gy = self.fields["gx"], self.fields["gy"]
        return self.offered % gx, self.offered // gx % gy, self.offered // gx // gy


@dataclass
class _Placed:
    """A block on an SM, from its offer until its resources may be given again."""

    run: _Run
    sm: int
    slot: int
    needs: dict[str, int]
    reported: bool = False


@dataclass
class _Sm:
    disabled: int | None = None
    lost: int | None = None
    placed: dict[int, _Placed] = field(default_factory=dict)


class DispatcherLedger:
    """Raises when a block is lost, doubled, out of order, or too much for its SM.

    Parameters
    ----------
    config : Config
        The machine.
    first_number : int
        Number of each launch's first block.
    seen : dict of int, optional
        What happened before.

    Attributes
    ----------
    seen : dict of int
        How often each kind of thing happened.
    """

    def __init__(self, config: Config, first_number: int = 0, seen: dict[str, int] | None = None):
        self._config, self._first_number = config, first_number
        # A level counts for picks two cycles later.
        self._last_offer = timing(config).resident_offer + 1
        self._sizes = capacities(config)
        self._start = resident_packets.resident_start(config)
        self._block = resident_packets.resident_block(config)
        self._end = resident_packets.resident_end(config)
        self._report = layouts.block_report(config)
        self._error = layouts.error_record(config)
        self._lost = 0
        self.seen: dict[str, int] = {} if seen is None else seen
        self._forget()

    def _forget(self) -> None:
        self._cycle = 0
        self._runs: dict[int, _Run] = {}
        self._order: list[_Placed] = []
        self._sms = [_Sm() for _ in range(self._config.sms)]

    def _count(self, what: str, number: int = 1) -> None:
        self.seen[what] = self.seen.get(what, 0) + number

    def see(self, inputs: Mapping[str, int], outputs: Mapping[str, int | None]) -> None:
        """Take in a cycle."""
        self._see_levels(inputs, outputs)
        if outputs["offer"]:
            self._see_offer(outputs)
        for sm in range(self._config.sms):
            if inputs[f"report__{sm}__valid"] and outputs[f"report__{sm}__ready"]:
                self._see_report(sm, inputs[f"report__{sm}__payload"])
        if outputs["ended__valid"] and inputs["ended__ready"]:
            self._see_end(outputs["ended__payload"] or 0)
        if outputs["error"]:
            self._count(ErrorCode(self._error.unpack(outputs["error"])["code"]).name)
        if inputs["start__valid"] and outputs["start__ready"]:
            fields = self._start.unpack(inputs["start__payload"])
            assert fields["stream"] not in self._runs, "a stream has two launches"
            self._runs[fields["stream"]] = _Run(fields)
            self._count("starts")
        self._cycle += 1
        if inputs["restart"]:
            self._forget()
            self._count("restarts")

    def _see_levels(self, inputs: Mapping[str, int], outputs: Mapping[str, int | None]) -> None:
        """Note stops, holds, switched-off and lost SMs."""
        kill, resident = outputs["kill"] or 0, outputs["resident"] or 0
        assert resident == sum(1 << stream for stream in self._runs), "resident is wrong"
        for stream, run in self._runs.items():
            asked = inputs["stop"] >> stream & 1
            if (asked and (run.offered < run.total or run.out)) or kill >> stream & 1:
                run.stopped = self._cycle if run.stopped is None else run.stopped
            run.held = _since(run.held, self._cycle, bool(inputs["hold"] >> stream & 1))
        self._see_losses(outputs["lost"] or 0)
        for n, sm in enumerate(self._sms):
            sm.disabled = _since(sm.disabled, self._cycle, not inputs["enable"] >> n & 1)

    def _see_losses(self, lost: int) -> None:
        assert not self._lost & ~lost, "a lost SM came back"
        for n, sm in enumerate(self._sms):
            if lost >> n & 1 and sm.lost is None:
                sm.lost = self._cycle
        self._count("lost SMs", (lost & ~self._lost).bit_count())
        if lost != self._lost:
            self._lost = lost
            self._give_back()

    def _see_offer(self, outputs: Mapping[str, int | None]) -> None:
        """Check an offer: the launch's next block, in a free slot, on an SM with room."""
        offer, word = outputs["offer"] or 0, outputs["block"]
        assert offer.bit_count() == 1 and word is not None, "an offer is one SM's"
        n, said = offer.bit_length() - 1, self._block.unpack(word)
        sm, run = self._sms[n], self._runs[said["stream"]]
        assert (said["bx"], said["by"], said["bz"]) == run.next_block, "a block out of order"
        number = (self._first_number + run.offered) % (1 << 32)
        assert said["block_number"] == number and run.offered < run.total, "a block too many"
        for name in ("index_address", "entry", "warps"):
            assert said[name] == run.fields[name], f"{name} is another launch's"
        waits = run.fields["wait_mode"] and run.offered
        for since, why in (
            (run.stopped, "a stop"),
            (None if waits else run.held, "a hold"),
            (sm.disabled, "a switch"),
            (sm.lost, "a loss"),
        ):
            assert since is None or self._cycle <= since + self._last_offer, f"an offer after {why}"
        assert said["slot"] not in sm.placed, "a slot has two blocks"
        needs = {name: run.fields.get(name, 1) for name in self._sizes}
        placed = _Placed(run, n, said["slot"], needs)
        sm.placed[said["slot"]] = placed
        self._order.append(placed)
        run.placed.append(placed)
        for name, size in self._sizes.items():
            taken = sum(one.needs[name] for one in sm.placed.values())
            assert taken <= size, f"SM {n} has {taken} of {size} {name}"
        run.offered += 1
        run.out += 1
        self._count("offers")

    def _see_report(self, sm: int, payload: int) -> None:
        """Let a block be over; what nobody runs, or a lost SM says, does not count."""
        fields = self._report.unpack(payload)
        placed = self._sms[sm].placed.get(fields["slot"])
        if placed is None or placed.reported or self._is_lost(sm):
            return
        status = BlockStatus.of(fields["status"])
        placed.run.not_ok |= status is not BlockStatus.OK
        placed.run.fault |= status is BlockStatus.FAULT
        placed.reported = True
        placed.run.out -= 1
        self._count(f"report {status.name}")
        self._give_back()

    def _give_back(self) -> None:
        """Forget what may be given back: every block that is over, or those at the line's head.

        A block on a lost SM is over, too: a sweep may return it at any time.
        """
        over = [one for one in self._order if one.reported or self._is_lost(one.sm)]
        for placed in over:
            if self._config.reclaim == "in_order" and self._order[0] is not placed:
                break
            self._order.remove(placed)
            self._free(placed)

    def _free(self, placed: _Placed) -> None:
        del self._sms[placed.sm].placed[placed.slot]

    def _is_lost(self, sm: int) -> bool:
        return bool(self._lost >> sm & 1)

    def _see_end(self, payload: int) -> None:
        """Check a run's end: nothing out, and the fate that its blocks had."""
        fields = self._end.unpack(payload)
        run = self._runs.pop(fields["stream"])
        on_lost = [one for one in run.placed if not one.reported]
        assert all(self._is_lost(one.sm) for one in on_lost), "an end with a block out"
        fate = Fate(fields["fate"])
        if on_lost:
            assert (fate, fields["code"]) == (Fate.FAILED, ErrorCode.SM_LOST)
        whole = run.offered == run.total and not run.not_ok
        assert (fate is Fate.FINISHED) <= whole, "finished without all blocks"
        if fate is Fate.KILLED:
            assert run.stopped is not None and not (whole or run.fault)
        if run.fault:
            assert fate is Fate.FAILED
        self._count(fate.name)

    @property
    def empty(self) -> bool:
        """Whether every launch has ended."""
        return not self._runs


def _since(before: int | None, cycle: int, now: bool) -> int | None:
    """Return the first cycle of the time in which something is so, if it is so now."""
    return (cycle if before is None else before) if now else None
