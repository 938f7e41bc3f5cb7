"""What LoopExpander may do at Mailbox's port `step`, at random."""

from dataclasses import dataclass
from random import Random

from tb.host.commands import Commands
from warploom_spec import Config, loop_packets
from warploom_spec.host_errors import HostError

#: Codes of an end, with and without an argument.
_ENDS = (0, 0, HostError.LAUNCH_FAILED, HostError.LOOP_STOPPED, HostError.TEMPLATE_BUSY)
#: The words of a launch that are judged, and what stays of a command before in the others.
_JUDGED = (0, 5, 6, 9, 28, 29, 30, 31)


@dataclass
class _Loop:
    """A loop that runs, and the launches that it still has to send."""

    left: int
    written: bool = False
    awaits: bool = False
    again: bool = False
    stopped: bool = False


class LoopSteps:
    """Writes launches of the loops that Mailbox begins, one loop's at a time, rings, and ends them.

    It keeps to what Mailbox relies on, but is no LoopExpander: there are no templates, and what a
    loop launches is anything.

    Parameters
    ----------
    config : Config
        Loops.
    rng : random.Random
        For everything.
    commands : Commands
        Gives words of launches.
    """

    def __init__(self, config: Config, rng: Random, commands: Commands):
        self._rng, self._commands = rng, commands
        self._begin = loop_packets.loop_begin(config)
        self._answers = loop_packets.loop_answers(config)
        self._step = loop_packets.loop_step(config)
        self.restart()

    def restart(self) -> None:
        """Begin anew."""
        self._active_before = False
        self._forget()

    def _forget(self) -> None:
        """Forget all loops, as in a soft reset."""
        self._stands = False
        #: Whether a ring was taken two cycles ago, in the last one, and in this one.
        self._rings = [False] * 3
        self._loops: dict[int, _Loop] = {}
        self._steps: list[dict[str, int]] = []

    @property
    def acts(self) -> bool:
        """Whether the next step is a ring or an end."""
        return bool(self._steps) and bool(self._steps[0]["ring"] or self._steps[0]["end"])

    @property
    def judged(self) -> bool:
        """Whether a ring is judged in the cycle to come."""
        return self._rings[1]

    def next(self, outputs, writes: bool, active: bool) -> dict[str, int]:
        """Return the inputs of a cycle.

        Parameters
        ----------
        outputs : mapping or None
            Of the cycle before.
        writes, active : bool
            Whether the host writes in this cycle, and whether a soft reset runs in it.
        """
        rng = self._rng
        if outputs is not None:
            self._see(outputs)
        if not self._steps and self._loops:
            self._choose(rng.choice(list(self._loops)))
        said = {"step": 0, "loop_result": rng.getrandbits(32)}
        self._rings = [*self._rings[1:], False]
        # A step that has come stands; a gap may come before any.
        if self._steps and (self._stands or rng.random() < 0.9):
            said["step"] = self._step.pack(self._steps[0])
            self._stands = writes
            if not writes:
                self._taken(self._steps.pop(0))
        if active or self._active_before:
            self._forget()
        self._active_before = active
        return said

    def _see(self, outputs) -> None:
        begin = self._begin.unpack(outputs["begin"])
        if begin["valid"]:
            self._loops[begin["loop"]] = _Loop(self._rng.choice((0, 1, 2, 4, 8)))
        answers = self._answers.unpack(outputs["answers"])
        for number, loop in self._loops.items():
            said = [name for name, bits in answers.items() if bits >> number & 1]
            assert len(said) <= 1 and (loop.awaits or not said), f"loop {number} is told {said}"
            if said:
                loop.awaits = False
                loop.again, loop.stopped = "full" in said, loop.stopped or "refused" in said

    def _choose(self, number: int) -> None:
        loop, rng = self._loops[number], self._rng
        if loop.awaits:
            return
        if loop.again and not loop.stopped:
            loop.again = False
            self._steps = [self._made(number, ring=1)]
        elif loop.stopped or not loop.left or rng.random() < 0.05:
            code = rng.choice(_ENDS)
            argument = rng.getrandbits(16) if code else 0
            self._steps = [self._made(number, end=1, data=code | argument << 16)]
        else:
            loop.left -= 1
            words = [(int(name[1:]), word) for name, word in self._commands.launch().items()]
            if loop.written and rng.random() < 0.75:
                words = rng.sample(words, rng.randrange(3))
            elif rng.random() < 0.8:
                words = [(number, word) for number, word in words if number in _JUDGED]
            loop.written = True
            self._steps = [self._made(number, word=n, data=word) for n, word in words]
            self._steps.append(self._made(number, ring=1))

    def _made(self, number: int, **fields: int) -> dict[str, int]:
        """Return a step; what means nothing is anything."""
        noise = {"word": self._rng.getrandbits(5), "data": self._rng.getrandbits(32)}
        return {"valid": 1, "ring": 0, "end": 0, "loop": number, **noise, **fields}

    def _taken(self, step: dict[str, int]) -> None:
        if step["ring"]:
            self._rings[-1] = True
            self._loops[step["loop"]].awaits = True
        elif step["end"]:
            del self._loops[step["loop"]]
