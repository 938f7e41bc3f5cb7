"""What a section of Mailbox's model holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Section:
    """What a section holds but its task register: all of it is 0 after a reset."""

    doorbell: int = 0
    #: The doorbell of the cycle before.
    doorbell_before: int = 0
    #: A command of it was sent to the launch path and not answered.
    awaits: bool = False
    #: STATUS, ASSIGNED, ERROR and RESULT words that are not 0, by name.
    outcome: dict[str, int] = field(default_factory=dict)
    #: Its LOOP runs (17), and what the loop's answers leave for its end (19).
    loops: bool = False
    kept: dict[str, int] = field(default_factory=dict)
    #: An end completed its last command: RESULT2 and RESULT3 are LoopExpander's (18).
    shows_loop: bool = False

    def ring(self) -> None:
        """Take the section: its words are 0 until its command completes."""
        self.doorbell = 1
        self.shows_loop = False
        self.outcome.clear()

    def loop(self) -> None:
        """Begin a loop (17)."""
        self.loops = True
        self.kept.clear()

    def complete(self, words: Mapping[str, int]) -> None:
        """Write an outcome's words and clear the doorbell."""
        self.outcome.update(words)
        self.doorbell = 0
        self.awaits = self.loops = False
