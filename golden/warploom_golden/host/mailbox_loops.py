"""What Mailbox's model has of loops: LoopExpander's steps, and what it is told."""

from collections.abc import Mapping, Sequence

from warploom_golden.host.mailbox_launches import Completion
from warploom_golden.host.mailbox_section import Section
from warploom_spec import loop_packets
from warploom_spec.config import Config
from warploom_spec.host_commands import loop_words

#: Of an end's data what ERROR takes: code and argument.
CODE_AND_ARGUMENT = 0xFFFF_00FF
#: What the answer to a launch leaves beside ERROR (19).
OF_ACCEPTED = "RESULT0", "RESULT1"

Step = dict[str, int]


def was_sent(outcome: Mapping[str, int]) -> bool:
    """Return whether it is the launch path's answer to a launch: no other has a ticket."""
    return "RESULT0" in outcome


class LoopSide:
    """State of the mailbox's side to LoopExpander; rules are those of Mailbox's page.

    Parameters
    ----------
    config : Config
        Loops and slots.
    sections : sequence of Section
        The sections: those that loop are changed.
    tasks : sequence of list of int
        Their task registers: a step writes them.
    """

    def __init__(
        self, config: Config, sections: Sequence[Section], tasks: Sequence[list[int]]
    ) -> None:
        self._first, self._sections, self._tasks = config.first_loop_section, sections, tasks
        self._begin_packet = loop_packets.loop_begin(config)
        self._answers_packet = loop_packets.loop_answers(config)
        self._step_packet = loop_packets.loop_step(config)
        self._words = loop_words(config)
        #: The registers ``begin`` and ``answers``.
        self._begin = 0
        self._answers = dict.fromkeys(self._answers_packet.offsets, 0)
        #: What they are in the next cycle.
        self._begins = 0
        self._answered = dict.fromkeys(self._answers_packet.offsets, 0)
        #: The step that commits in this cycle, and the end that committed in the one before.
        self._committing: Step | None = None
        self._ended: Step | None = None

    def outputs(self) -> dict[str, int | None]:
        """Return the two registers."""
        return {"begin": self._begin, "answers": self._answers_packet.pack(self._answers)}

    def begin(self, section: int) -> None:
        """Rule 17: a LOOP is judged in this cycle, and not refused."""
        words = self._words.unpack(self._tasks[section])
        names = ("count", "first_slot", "last_slot", "in_flight")
        fields = {"valid": 1, "loop": section - self._first}
        self._begins = self._begin_packet.pack(fields | {name: words[name] for name in names})
        self._sections[section].loop()

    def commits(self, *, shut: bool) -> Step | None:
        """Rule 18: return the step that commits in this cycle, if it is not dropped."""
        return None if shut else self._committing

    def section(self, step: Step) -> int:
        """Return a step's section."""
        return self._first + step["loop"]

    def refuse(self, section: int, error: int) -> None:
        """Rule 19: rule 5 refuses a loop's launch in this cycle."""
        self._sections[section].kept["ERROR"] = error
        self._tell("refused", section)

    def hear(self, events: Sequence[Completion]) -> None:
        """Rule 19: what happened in this cycle to launches, some of them loops'."""
        for number, outcome in events:
            if self._sections[number].loops:
                answer = "refused" if outcome["ERROR"] else "accepted"
                self._tell(answer if was_sent(outcome) else "full", number)

    def settle(self, number: int, outcome: Mapping[str, int]) -> None:
        """Rule 19: a loop's launch was answered in the cycle before: it awaits no answer more."""
        section = self._sections[number]
        section.awaits = False
        if was_sent(outcome):
            names = ("ERROR",) if outcome["ERROR"] else OF_ACCEPTED
            section.kept |= {name: outcome[name] for name in names}

    def end(self) -> None:
        """Rule 18: complete the section whose end committed in the cycle before."""
        if self._ended is not None:
            section = self._sections[self.section(self._ended)]
            said = self._ended["data"] & CODE_AND_ARGUMENT
            section.complete(section.kept | ({"ERROR": said} if said else {}))
            section.shows_loop = True

    def advance(self, step: Step | None, comes: int, *, taken: bool) -> None:
        """End a cycle.

        Parameters
        ----------
        step : dict or None
            The step that commits in this cycle.
        comes : int
            The input ``step``.
        taken : bool
            Whether it is taken if it is valid: no write of the host comes.
        """
        self._ended = None
        if step is not None and step["end"]:
            self._ended = step
        elif step is not None and not step["ring"]:
            self._tasks[self.section(step)][step["word"]] = step["data"]
        fields = self._step_packet.unpack(comes)
        self._committing = fields if fields["valid"] and taken else None
        self._begin, self._begins = self._begins, 0
        self._answers = self._answered
        self._answered = dict.fromkeys(self._answered, 0)

    def _tell(self, name: str, section: int) -> None:
        self._answered[name] |= 1 << section - self._first
