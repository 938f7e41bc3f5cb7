"""What SMs send to BlockDispatcher's cycle model: completions, acknowledgements, silence."""

from collections import deque
from collections.abc import Collection, Mapping, Sequence

from warploom_golden.dispatch.place import Place, Stop
from warploom_golden.dispatch.reclaim import Reclaim
from warploom_golden.dispatch.sm.sm import Block, Sm
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode
from warploom_spec.timing import timing

#: An error record's code and argument.
Error = tuple[ErrorCode, int]


class Signals:
    """The registers behind the SMs' completions and acknowledgements.

    Parameters
    ----------
    config : Config
        Widths, number of SMs, and how long each has to answer.
    """

    def __init__(self, config: Config):
        self._returns = timing(config).returns
        self._kill_timeout = config.kill_timeout
        self._completion = layouts.block_completion(config)
        self._mask = layouts.slot_mask(config)
        self._ports = [
            (n, f"completion__{n}__valid", f"completion__{n}__payload", f"acknowledge__{n}")
            for n in range(config.sms)
        ]
        # Completions and acknowledgements of the last cycles, each (SM, payload), the oldest first.
        self._sent: deque[tuple[list[tuple[int, int]], list[tuple[int, int]]]] = deque(
            ([], []) for _ in range(self._returns - 1)
        )

    def register(self, inputs: Mapping[str, int]) -> None:
        """Take in what stands at the ports."""
        completions, acknowledgements = [], []
        for sm, valid, payload, acknowledge in self._ports:
            if inputs[valid]:
                completions.append((sm, inputs[payload]))
            if inputs[acknowledge] & 1:
                acknowledgements.append((sm, inputs[acknowledge]))
        self._sent.append((completions, acknowledgements))

    def process(self, cycle: int, sms: Sequence[Sm], reclaim: Reclaim, errors: list[Error]) -> None:
        """Process what was sent ``timing.returns`` - 1 cycles before.

        Completions, then acknowledgements, then returns.

        Parameters
        ----------
        cycle : int
            The current cycle.
        sms : sequence of Sm
            All SMs.
        reclaim : Reclaim
            Says which blocks return what they held.
        errors : list
            Gets the errors.
        """
        ended: list[Block] = []
        completions, acknowledgements = self._sent.popleft()
        for number, payload in completions:
            self._complete(cycle, sms[number], payload, ended, errors)
        for number, payload in acknowledgements:
            self._acknowledge(cycle, sms[number], payload, ended, errors)
        for block in reclaim.returned(ended):
            if not block.sm.lost:
                block.sm.give(block)
                block.place.out -= 1

    def _complete(
        self, cycle: int, sm: Sm, payload: int, ended: list[Block], errors: list[Error]
    ) -> None:
        if sm.lost:
            errors.append((ErrorCode.LOST_SM_SIGNAL, sm.number))
            return
        fields = self._completion.unpack(payload)
        block = sm.ran(fields["slot"], cycle)
        if block is None:
            errors.append((ErrorCode.COMPLETION_NOT_RUNNING, sm.number))
            return
        self._end(cycle, block, ended)
        if fields["code"]:
            block.place.fault = True
            block.place.end_with(Stop.KILL, cycle)

    def _acknowledge(
        self, cycle: int, sm: Sm, payload: int, ended: list[Block], errors: list[Error]
    ) -> None:
        if sm.lost:
            errors.append((ErrorCode.LOST_SM_SIGNAL, sm.number))
            return
        # At the port before the pulse, it does not answer it.
        if not sm.outstanding or self._sent_in(cycle) < sm.killed_at:
            errors.append((ErrorCode.ACK_NOT_OUTSTANDING, sm.number))
            return
        if self._mask.unpack(payload)["mask"] & ~sm.named:
            errors.append((ErrorCode.ACK_MASK, sm.number))
        for slot in range(sm.named.bit_length()):
            block = sm.running(slot) if sm.named >> slot & 1 else None
            if block is not None:
                block.place.killed = True
                self._end(cycle, block, ended)
        sm.outstanding = False
        sm.named = 0

    def is_overdue(self, sm: Sm, stands: bool, cycle: int) -> bool:
        """Tell whether an SM is lost at the end of this cycle, once its signals are processed.

        Parameters
        ----------
        sm : Sm
            The SM.
        stands : bool
            Whether its offer was refused in this cycle.
        cycle : int
            The current cycle.
        """
        if sm.lost:
            return False
        if sm.outstanding and self._sent_in(cycle) == sm.killed_at + self._kill_timeout:
            return True
        if not stands or sm.standing is None:
            return False
        place = sm.standing.place
        return place.stop is Stop.KILL and cycle == place.kill_since + self._kill_timeout

    def _sent_in(self, cycle: int) -> int:
        """Return the cycle in which stood at the port what is processed in ``cycle``."""
        return cycle - (self._returns - 1)

    def _end(self, cycle: int, block: Block, ended: list[Block]) -> None:
        block.running = False
        block.done = True
        block.place.last_seen = self._sent_in(cycle)
        ended.append(block)


def kill_mask(sm: Sm, killed: Collection[Place]) -> int:
    """Return the slots of an SM that run for a launch that is being killed."""
    return sum(
        1 << block.slot
        for block in sm.blocks
        if block is not None and block.running and block.place in killed
    )


def send_kill(sm: Sm, mask: int, cycle: int) -> None:
    """Let a kill be outstanding from the cycle after ``cycle`` on."""
    sm.kill = mask
    if mask:
        sm.outstanding = True
        sm.named = mask
        sm.killed_at = cycle + 1


def lose(sm: Sm, cycle: int, decided: Block | None) -> Place | None:
    """Take an SM out of use; no block on it is out any more.

    Parameters
    ----------
    sm : Sm
        The SM.
    cycle : int
        The current cycle.
    decided : Block or None
        The block that is decided in this cycle, whatever its SM.

    Returns
    -------
    Place or None
        The place that loses the decided block, one cycle later than the others.
    """
    sm.lost = True
    sm.kill = 0
    sm.outstanding = False
    sm.named = 0
    later = None
    for block in sm.held():
        block.place.out -= 1
        if block.done:
            continue
        block.done = True
        block.running = False
        if block is decided:
            later = block.place
        else:
            block.place.lose(cycle)
    return later
