"""`least_loaded`: the eligible SM with the fewest warps."""

from amaranth.hdl import C, Module, Mux, Signal, Value

from warploom.dispatch.placement.placement import PlacementPolicy
from warploom.lib.bits import decoded


class LeastLoaded(PlacementPolicy):
    """Choose the eligible SM that holds the fewest warps, the lowest number of equals."""

    READS_LOADS = True

    def choose(self, m: Module) -> Value:
        """Return the eligible SM with the fewest warps."""
        sms = self._config.sms
        least = Signal(self._config.sm_bits)
        m.d.comb += least.eq(_least(m, [(self.eligible[k], self.loads[k]) for k in range(sms)]))
        return decoded(m, "least_loaded", least, sms, self.eligible.any())


def _least(m: Module, candidates: list[tuple[Value, Value]]) -> Value:
    """Return the number of the eligible candidate with the lowest load, the lowest of equals."""

    def better(low: int, high: int) -> tuple[Value, Value, Value]:
        if high - low == 1:
            return candidates[low][0], candidates[low][1], C(low, max(1, low.bit_length()))
        half = 1 << ((high - low - 1).bit_length() - 1)
        a_any, a_load, a_number = better(low, low + half)
        b_any, b_load, b_number = better(low + half, high)
        second = Signal(name=f"prefers_{low + half}")
        m.d.comb += second.eq(b_any & (~a_any | (b_load < a_load)))
        return a_any | b_any, Mux(second, b_load, a_load), Mux(second, b_number, a_number)

    return better(0, len(candidates))[2]
