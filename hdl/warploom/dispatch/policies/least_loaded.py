"""`least_loaded`: the SM with room that has the most free warps."""

from amaranth.hdl import Cat, Module, Signal, Value

from warploom.dispatch.room import Room, late_found
from warploom_spec import Config


class LeastLoaded(Room):
    """Choose the SM with the most free warps, the lowest of equal ones.

    Verdicts count a cycle later: meanwhile each pair of SMs is compared.
    """

    NEEDS_ROUND = True
    ROUND_KNOWN = (5, 9)

    def __init__(self, config: Config) -> None:
        super().__init__(config)

    def choose(self, m: Module, room: Signal, out: Signal) -> Value:
        """Return the SM with room that loses against none."""
        sms, most = range(len(room)), self._config.warp_slots
        free = [Signal(most.bit_length(), name=f"free_{k}", init=most) for k in sms]
        placement, returned = self.placement, self.returned
        beaten_by: dict[int, list[Value]] = {k: [] for k in sms}
        for k in sms:
            with m.If(placement.sm[k] & placement.own):
                m.d.sync += free[k].eq(placement.warps)
            with m.Elif(returned.sm[k] & returned.own & ~out[k]):
                m.d.sync += free[k].eq(returned.warps)
        for k in sms:
            for j in range(k + 1, len(sms)):
                not_less = Signal(name=f"not_less_{k}_{j}", init=1)
                m.d.sync += not_less.eq(free[k] >= free[j])
                beaten_by[k].append(room[j] & ~not_less)
                beaten_by[j].append(room[k] & not_less)
        return Cat(*(room[k] & ~Cat(*beaten_by[k]).any() for k in sms))

    def judge(self, m: Module, room: Signal, out: Signal) -> None:
        """Renew the bits, a cycle later than the other policies."""
        sms = len(room)
        placement, returned = self.placement, self.returned
        found = late_found(
            m,
            (placement.sm & placement.fits.replicate(sms))
            | (returned.sm & returned.fits.replicate(sms)),
            self.change,
        )
        open_ = ~self.pick & self.used & ~self.change.replicate(sms)
        m.d.sync += room.eq((room | (found & ~out)) & open_)
