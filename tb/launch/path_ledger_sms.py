"""What stands on each SM, for the ledger of LaunchPath."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warploom_spec import Config
from warploom_spec.resources import RESOURCES, block_amounts, capacities

#: Cycles from a switch or a loss to the last offer that does not know of it.
_LEVEL = 5
#: Cycles from a report's transfer to its books, beside two for each SM whose report goes first.
_BOOKS = 8


@dataclass(eq=False)
class _Placed:
    launch: Any
    run: Any
    needs: dict[str, int]
    reported: bool = False


class SmBooks:
    """Check that no SM has more than its size, nor two blocks in a slot.

    Parameters
    ----------
    config : Config
        The machine.
    """

    def __init__(self, config: Config):
        self._config, self._sizes = config, capacities(config)
        self._off: list[int | None] = [None] * config.sms
        self._lost = 0
        self.restart()

    def restart(self) -> None:
        """Forget all blocks."""
        self._slots: list[dict[int, _Placed]] = [{} for _ in range(self._config.sms)]
        #: Of each SM: the last reports, and those whose books may have come behind its loss.
        self._reports: list[list[tuple[int, _Placed]]] = [[] for _ in range(self._config.sms)]
        self._late: list[_Placed] = []

    def levels(self, now: int, enable: int, lost: int) -> None:
        """Note which SMs are in use."""
        assert not self._lost & ~lost, "a lost SM came back"
        within = _BOOKS + 2 * self._config.sms
        for sm, reports in enumerate(self._reports):
            reports[:] = [one for one in reports if now <= one[0] + within]
            if (lost & ~self._lost) >> sm & 1:
                self._late += [placed for _, placed in reports]
        self._lost = lost
        for sm in range(self._config.sms):
            used = enable >> sm & 1 and not lost >> sm & 1
            if used:
                self._off[sm] = None
            elif self._off[sm] is None:
                self._off[sm] = now

    def offer(self, now: int, offer: int, block: Mapping[str, int], launch: Any) -> None:
        """Place a block."""
        assert offer.bit_count() == 1, "an offer is one SM's"
        sm, fields = offer.bit_length() - 1, launch.fields
        off, placed = self._off[sm], self._slots[sm]
        assert off is None or now <= off + _LEVEL, f"SM {sm} is not in use"
        assert block["slot"] not in placed, "a slot has two blocks"
        threads = fields["dx"] * fields["dy"] * fields["dz"]
        warps = -(-threads // self._config.warp_size)
        assert block["warps"] == warps, "warps of another launch"
        if self._config.makes_indices:
            assert block["index_address"] == fields["index_address"], "indices of another launch"
        needs = dict(zip(RESOURCES, block_amounts(fields, warps, self._config), strict=True))
        placed[block["slot"]] = _Placed(launch, launch.run, needs)
        for name, size in self._sizes.items():
            taken = sum(one.needs[name] for one in placed.values())
            assert taken <= size, f"SM {sm} has {taken} of {size} {name}"

    def report(self, now: int, sm: int, slot: int) -> tuple[Any, Any]:
        """Let a block be over; return its launch and run, if it counts."""
        if self._lost >> sm & 1 or slot not in self._slots[sm]:
            return None, None
        placed = self._slots[sm].pop(slot)
        self._reports[sm].append((now, placed))
        return placed.launch, placed.run

    def out_on_lost(self, launch: Any) -> int:
        """Return how many blocks of a launch's run stand on lost SMs."""
        lost = (sm for sm in range(self._config.sms) if self._lost >> sm & 1)
        return sum(one.run is launch.run for sm in lost for one in self._slots[sm].values())

    def late_reports(self, launch: Any) -> int:
        """Return how many blocks of its run were reported just before their SM was lost.

        Who was lost when a report's books were written says nothing any more.
        """
        return sum(one.run is launch.run for one in self._late)
