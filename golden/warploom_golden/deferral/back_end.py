"""Back end: rebuilds the loop of a group and runs its calls; keeps applications apart."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from warploom_golden.deferral.calls import Answer, Group, Value, argument_value
from warploom_golden.deferral.commands import Commands, to_commands
from warploom_golden.deferral.kernel_store import KernelStore
from warploom_golden.deferral.message import MessageError, decode, encode
from warploom_golden.deferral.parameter_blocks import Memory
from warploom_golden.deferral.refusal import Refusal
from warploom_spec import Config

#: A function of the back end: takes the arguments' values, returns an error code (0: ok), a result.
Function = Callable[..., tuple[int, Value]]

#: The answer's code for a group that names a function which the back end does not have.
UNKNOWN_FUNCTION: Final = 0xFFFF0001


@dataclass
class _Context:
    """The state of one application: its functions, and its groups that were not run yet."""

    functions: Mapping[str, Function]
    sequence: int = 0
    groups: deque[Group] = field(default_factory=deque)


class BackEnd:
    """Take messages, run groups in the order of each application's messages, and answer.

    Patent CN103955394B has one process for each application. Here a context takes the part of the
    process: nothing that an application sends reaches another application's functions or groups.
    """

    def __init__(self) -> None:
        self._contexts: dict[int, _Context] = {}

    def open(self, application: int, functions: Mapping[str, Function]) -> None:
        """Make the context of an application, with the functions that its calls name."""
        self._contexts[application] = _Context(functions)

    def receive(self, application: int, data: bytes) -> None:
        """Queue one message as a group.

        Parameters
        ----------
        application : int
            Number of the application over whose link the message came.
        data : bytes
            The message.

        Raises
        ------
        MessageError
            If the message is malformed, names another application, is not a group, or does not have
            the application's next sequence number. Then nothing of the message is queued.
        """
        context = self._contexts[application]
        group = decode(data)
        if not isinstance(group, Group):
            raise MessageError("kind is an answer; legal: a group")
        if group.application != application:
            raise MessageError(f"application is {group.application}; legal: {application}")
        if group.sequence != context.sequence:
            raise MessageError(f"sequence is {group.sequence}; legal: {context.sequence}")
        context.sequence = (context.sequence + 1) % (1 << 32)
        context.groups.append(group)

    def run_next(self, application: int) -> bytes | None:
        """Run an application's oldest group; return the answer's bytes, or None if none waits."""
        context = self._contexts[application]
        if not context.groups:
            return None
        return encode(run_group(context.groups.popleft(), context.functions))

    def oldest_commands(
        self, application: int, store: KernelStore, config: Config, memory: Memory
    ) -> Commands | Refusal | None:
        """Return an application's oldest group as the core's commands, or why it has none.

        The group stays where it is. A refused one goes call by call (`run_next`). None: no group
        waits. A damaged message is no group.
        """
        groups = self._contexts[application].groups
        return to_commands(groups[0], store, config, memory) if groups else None


def run_group(group: Group, functions: Mapping[str, Function]) -> Answer:
    """Run a group's iterations in order, and stop at the first error.

    Parameters
    ----------
    group : Group
        The calls, and how their arguments change.
    functions : Mapping
        The functions by name. A group that names an unknown function is refused before any call
        runs.
    """
    done: list[Value] = [0] * len(group.calls)
    for number, call in enumerate(group.calls):
        if call.name not in functions:
            return Answer(
                group.application, group.sequence, UNKNOWN_FUNCTION, number, 0, tuple(done)
            )
    before: list[Value] | None = None
    for iteration in range(group.count):
        current = list(done)
        for number, call in enumerate(group.calls):
            values = [
                argument_value(argument, number, iteration, current, before)
                for argument in call.arguments
            ]
            code, current[number] = functions[call.name](*values)
            if code:
                return Answer(
                    group.application, group.sequence, code, number, iteration, tuple(current)
                )
        done = before = current
    return Answer(group.application, group.sequence, 0, 0, 0, tuple(done))
