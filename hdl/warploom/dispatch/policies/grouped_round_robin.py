"""`round_robin` over groups of SMs: one candidate a group."""

from amaranth.hdl import C, Cat, Module, Signal, Value

from warploom.dispatch.policies._rotating import first_ahead, rotating
from warploom.dispatch.room import Room
from warploom.lib.bits import number_of
from warploom.lib.pipes import held
from warploom_spec import Config
from warploom_spec.resident_limits import sm_groups


class GroupedRoundRobin(Room):
    """Choose a candidate in each group, and go round over the groups that have one.

    Rule 35 (b) of ``docs/dispatch/block_dispatcher.md``.
    """

    ROTATES = True

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._groups, groups = sm_groups(config.sms), len(sm_groups(config.sms))
        self._some, self._chosen = Signal(groups, name="some"), Signal(groups, name="chosen")
        self._numbers: list[Value] = []

    def finds(self, room: Signal) -> Value:
        """Return whether a group has a candidate."""
        del room
        return self._some.any()

    def choose(self, m: Module, room: Signal, out: Signal) -> Value:
        """Return the candidate of the first group that has one, from the pointer on."""
        del out
        groups = len(self._groups)
        found = rotating(m, "group", self._some, self.picks)
        m.d.comb += self._chosen.eq(found & self.go.replicate(groups))
        picked = Signal(len(room), name="picked_of_groups")
        for group, sms in enumerate(self._groups):
            candidate = self._candidate(m, group, room)
            m.d.comb += [picked[sm].eq(candidate[place]) for place, sm in enumerate(sms)]
        return picked

    def _candidate(self, m: Module, group: int, room: Signal) -> Value:
        """Keep a group's candidate; return it where it is picked, one-hot."""
        sms = self._groups[group]
        may, used = (Cat(bits[sm] for sm in sms) for bits in (room, self.used))
        candidate = Signal(len(may), name=f"candidate_{group}")
        number = Signal(range(len(room)), name=f"number_{group}", reset_less=True)
        chooses, some = Signal(name=f"chooses_{group}"), self._some[group]
        m.d.comb += chooses.eq(self._chosen[group] | ~(candidate & used).any())
        first, found = first_ahead(
            m, f"sm_{group}", may & used & ~candidate, chooses, restarts=self.clears
        )
        with m.If(chooses):
            m.d.sync += [candidate.eq(first), some.eq(found), number.eq(number_of(first, sms))]
        with m.If(self.clears):
            m.d.sync += [candidate.eq(0), some.eq(0)]
        self._numbers.append(held(m, f"old_number_{group}", number))
        return candidate & self._chosen[group].replicate(len(may))

    def number(self, m: Module) -> Value:
        """Return the number of the SM that was picked in the cycle before; 0 without one."""
        was_chosen = held(m, "was_chosen", self._chosen, clear=C(0, 1))
        width = len(self._numbers[0])
        picked: Value = C(0, width)
        for group, number in enumerate(self._numbers):
            picked |= number & was_chosen[group].replicate(width)
        return picked[:width]
