"""A section whose words are kept: the calls of ``host/c/warploom_kept.c``, in Python."""

from collections.abc import Sequence

from warploom_host.driver import HostDriver
from warploom_host.launch_words import Wait
from warploom_host.outcomes import CommandFailed, HostTimeout, Outcome
from warploom_spec.errors import ErrorCode
from warploom_spec.launch import LaunchDescriptor


class KeptSection:
    """Launches in one section that write only words that differ: task words survive commands.

    What stands there is unknown at first, after an error, and after a refusal. Call `forget` after
    a reset, after a LOOP, and when another driver may have used the section.

    Parameters
    ----------
    driver : HostDriver
        The core.
    section : int
        The section.

    Attributes
    ----------
    known : dict of int to int
        The words that stand in the task register, by number, as far as they are known.
    """

    def __init__(self, driver: HostDriver, section: int):
        self._driver = driver
        self._section = section
        self.known: dict[int, int] = {}

    def forget(self) -> None:
        """Know nothing."""
        self.known = {}

    def submit_launch(
        self, launch: LaunchDescriptor, waits: Sequence[Wait] = (), *, quiet: bool = False
    ) -> None:
        """Write the words of a launch that differ, and ring the doorbell."""
        launches = self._driver._launches
        words = launches.pack(launch, waits, quiet)
        known, self.known = self.known, {}
        chosen = [n for n in launches.read(len(waits)) if known.get(n) != words[n]]
        self._driver._ring(self._section, words, chosen)
        self.known = known | {n: words[n] for n in chosen}

    def launch(
        self, launch: LaunchDescriptor, waits: Sequence[Wait] = (), *, quiet: bool = False
    ) -> Outcome:
        """Launch a kernel, and again while its queue is full; return ticket and number.

        The ticket of a quiet launch is not read: it is 0.

        Raises
        ------
        CommandFailed
            If it is refused for another reason.
        HostTimeout
            If no answer comes, or the queue stays full.
        """
        for _ in self._driver._turns():
            self.submit_launch(launch, waits, quiet=quiet)
            known, self.known = self.known, {}
            outcome = self._answer(quiet)
            if not outcome.code:
                self.known = known
                return outcome
            if outcome.code != ErrorCode.QUEUE_FULL:
                raise CommandFailed(self._section, outcome)
            # It is rung again as it stands.
            self.known = known
        self.known = {}
        raise HostTimeout(f"section {self._section}: no room in {self._driver._patience} turns")

    def _answer(self, quiet: bool) -> Outcome:
        """Wait for a launch's answer, and read what is needed of it."""
        for _ in self._driver._turns():
            if not self._read("DOORBELL"):
                break
        else:
            patience = self._driver._patience
            raise HostTimeout(f"section {self._section}: no answer in {patience} turns")
        word = self._read("ERROR")
        code, argument = word & 0xFF, word >> 16
        number = 0 if code else self._read("RESULT1") >> 16
        ticket = 0 if code or quiet else self._read("RESULT0")
        return Outcome(code, 0, argument, ticket, 0, 0, 0, number)

    def _read(self, name: str) -> int:
        return self._driver.section(self._section, name)
