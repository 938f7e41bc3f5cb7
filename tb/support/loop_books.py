"""What a ledger of launches keeps of loops: quiet records, launches' numbers, `loop_end`."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from warploom_spec import Config, loop_packets
from warploom_spec.queue import FinalFate
from warploom_spec.queue_packets import WAIT_BITS

Values = Mapping[str, int]
#: What happens where there are loops.
LOOP_EVENTS = (
    *("loop_end finished", "loop_end not finished", "quiet finished", "quiet with a record"),
    *("relative", "relative WAIT_AHEAD"),
)


@dataclass(eq=False)
class _Open:
    """A launch of which not all was said."""

    loop: int
    quiet: bool
    number: int
    told: bool = False


class LoopBooks:
    """Judges `loop_end`, and the records of quiet launches; does nothing where there are no loops.

    Parameters
    ----------
    config : Config
        The machine.
    seen : Counter
        Where it counts what happens.
    """

    def __init__(self, config: Config, seen: Counter[str]):
        self._there = config.has_loops
        self._packet = loop_packets.loop_end(config) if self._there else None
        self._seen = seen
        self._launches: dict[int, _Open] = {}
        #: Of this cycle: who has passed, and whether it finished; whose ABORT was answered `OK`.
        self._passed: tuple[int, bool | None] | None = None
        self._aborted: int | None = None

    def accept(self, ticket: int, fields: Values, number: int) -> None:
        """A launch is accepted; its number in its stream."""
        loop, quiet = fields.get("loop", 0), bool(fields.get("quiet", 0))
        self._launches[ticket] = _Open(loop, quiet, number % (1 << WAIT_BITS))

    def passes(self, ticket: int, *, finished: bool | None) -> bool:
        """A head passes in this cycle; None: nobody can tell from here whether it has finished.

        Returns
        -------
        bool
            Whether it has no record.
        """
        self._passed = ticket, finished
        silent = self._launches[ticket].quiet and bool(finished)
        self._seen["quiet finished"] += silent
        return silent

    def abort(self, ticket: int) -> None:
        """An ABORT is answered `OK` in this cycle."""
        self._aborted = ticket

    def record(self, ticket: int, record: Values) -> None:
        """Judge a launch's record."""
        launch = self._launches[ticket]
        assert record["word3"] == (launch.number if self._there else 0), "another number"
        assert launch.told or not launch.loop, f"no loop_end of ticket {ticket}"
        quiet_end = launch.quiet and record["fate"] == FinalFate.FINISHED
        assert not quiet_end, f"ticket {ticket} is quiet, has finished, and has a record"
        self._seen["quiet with a record"] += launch.quiet

    def see(self, outputs: Values) -> None:
        """Judge a cycle, behind all that it says of launches."""
        if not self._there:
            return
        assert self._packet is not None
        end = self._packet.unpack(outputs["loop_end"])
        passed, self._passed = self._passed, None
        aborted, self._aborted = self._aborted, None
        must = passed is not None and self._is_untold(passed[0])
        if not end["valid"]:
            assert not must, f"no loop_end of ticket {passed}"
            return
        assert must or (aborted is not None and self._is_untold(aborted)), "loop_end of nobody"
        ticket, finished = passed if must else (aborted, False)
        launch = self._launches[ticket]
        assert end["loop"] == launch.loop - 1, f"loop_end of another loop than ticket {ticket}'s"
        assert finished in (None, bool(end["finished"])), f"ticket {ticket}: a wrong end"
        launch.told = True
        self._seen["loop_end finished" if end["finished"] else "loop_end not finished"] += 1

    def _is_untold(self, ticket: int) -> bool:
        launch = self._launches[ticket]
        return launch.loop > 0 and not launch.told
