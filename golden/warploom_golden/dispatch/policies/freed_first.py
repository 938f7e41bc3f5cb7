"""`freed_first`: the SM that was freed first, else the next one of the order table (20)."""

from collections import deque
from collections.abc import Mapping

from warploom_golden.dispatch.pipe_times import PipeTimes, pipe_times
from warploom_golden.dispatch.policies.order_table import OrderTable
from warploom_golden.dispatch.policies.policy import Error, Policy, PolicyStep
from warploom_spec.config import Config


class _Queue:
    """The queue of freed SMs: FIFO, output and head."""

    def __init__(self) -> None:
        # Numbers that have not moved to the head, each with the cycle in which it entered.
        self._fifo: deque[tuple[int, int]] = deque()
        self._output: int | None = None
        self.head: int | None = None

    @property
    def settled(self) -> bool:
        """Whether it is empty."""
        return self.head is None and not self._fifo

    def tick(self, cycle: int, entering: int | None, *, popped: bool, quiet: bool) -> None:
        """End a cycle, in which a number may enter and the head may be popped."""
        moves = self._output is not None and (self.head is None or popped)
        if moves:
            self.head = self._output
            self._fifo.popleft()
        elif popped:
            self.head = None
        if quiet:
            self._fifo.clear()
            self.head = None
        if entering is not None:
            self._fifo.append((entering, cycle))
        first = self._fifo[0] if self._fifo else None
        self._output = first[0] if first is not None and first[1] < cycle else None


class FreedFirst(Policy):
    """The queue's head, else the table's SM; one candidate a cycle."""

    def __init__(self, config: Config):
        super().__init__(config)
        self._sms = config.sms
        self._table = OrderTable(config)
        self._queue = _Queue()
        self._pointer = 0
        self._aside = False
        self._cycle = 0
        # SMs that were freed one cycle before, two and so on: the oldest enter.
        self._freed: deque[int | None] = deque([None] * pipe_times(config).enters)
        # What `choose` decided for the end of the cycle.
        self._pops = self._drops = self._moves_on = False

    def known_after(self, times: PipeTimes) -> int:
        return times.known

    @property
    def settled(self) -> bool:
        entering = any(sm is not None for sm in self._freed)
        return self._queue.settled and not entering and self._table.settled

    def choose(self, room: int, out: int, known: bool) -> int | None:
        head = None if self._aside else self._queue.head
        candidate = self._table.sms[self._pointer] if head is None else head
        if head is None and self._table.swaps:
            return None
        fits = bool(room >> candidate & 1)
        more = known and room != 0
        if head is None:
            self._moves_on = fits or more
        else:
            self._drops = not fits and not out >> candidate & 1 and more
            self._pops = fits or self._drops
        return candidate if fits else None

    def tick(self, step: PolicyStep) -> None:
        # In `in_order` what comes back is a retired block, also one that a sweep returned.
        entering = self._freed.popleft()
        self._freed.append(step.freed)
        self._queue.tick(self._cycle, entering, popped=self._pops, quiet=step.quiet)
        if self._moves_on:
            self._pointer = (self._pointer + 1) % self._sms
        if self._drops:
            self._aside = True
        elif step.picked is not None:
            self._aside = False
        self._pops = self._drops = self._moves_on = False
        self._cycle += 1

    def outputs(self, *, booted: bool) -> dict[str, int | None]:
        return {"order_swap__ready": int(booted and self._table.ready)}

    def comes(self, inputs: Mapping[str, int]) -> bool:
        return bool(inputs["order_swap__valid"])

    def swap(
        self, inputs: Mapping[str, int], *, booted: bool, quiet: bool, shows: bool
    ) -> Error | None:
        payload = None
        if booted and self._table.ready and inputs["order_swap__valid"]:
            payload = inputs["order_swap__payload"]
        return self._table.tick(payload, quiet=quiet, shows=shows)
