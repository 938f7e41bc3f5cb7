"""What happens in LaunchPath in one cycle."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_golden.launch.launch_waiting import Record, Waiting
from warploom_spec.errors import Stop

Values = dict[str, int | None]


@dataclass(frozen=True)
class Look:
    """What a look at the stop register finds (14).

    Attributes
    ----------
    leaves : bool
        Whether the stop leaves the register.
    waiting : Waiting or None
        The launch in the queue that is taken back.
    place : int or None
        The dispatcher's place that the stop is passed to.
    stop : Stop
        How.
    unknown : bool
        Whether nobody here has the ticket.
    """

    leaves: bool = False
    waiting: Waiting | None = None
    place: int | None = None
    stop: Stop = Stop.NONE
    unknown: bool = False


@dataclass(frozen=True)
class Wires:
    """What happens in one cycle.

    Attributes
    ----------
    check, generator, dispatcher : mapping
        Inputs of the parts.
    outputs : mapping
        Outputs of the whole.
    leaving : mapping or None
        The launch that leaves LaunchCheck, fields of ``layouts.checked_launch``.
    code, argument : int
        Why it is refused.
    presented : Waiting or None
        The launch whose configuration transfers.
    decision : mapping or None
        The index generator's decision, fields of ``layouts.index_decision``.
    handed : Waiting or None
        The launch that transfers to the dispatcher.
    ended_place : int or None
        The dispatcher's place whose record is valid.
    record : Record or None
        The record that enters the record queue.
    ends_here : bool
        It is that of the queue's oldest launch.
    stop : Look
        What becomes of the stop in the register.
    """

    check: Mapping[str, int]
    generator: Mapping[str, int]
    dispatcher: Mapping[str, int]
    outputs: Values
    leaving: Mapping[str, int] | None
    code: int
    argument: int
    presented: Waiting | None
    decision: Mapping[str, int] | None
    handed: Waiting | None
    ended_place: int | None
    record: Record | None
    ends_here: bool
    stop: Look
