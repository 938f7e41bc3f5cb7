"""Packets between Mailbox, LoopExpander and KernelQueue."""

from warploom_spec.config import Config
from warploom_spec.host_commands import TASK_WORDS
from warploom_spec.packet import Field, Packet

_WORD_BITS = (TASK_WORDS - 1).bit_length()


def _valid() -> Field:
    return Field("valid", 1, "1 for one cycle")


def _loop(config: Config) -> Field:
    return Field("loop", config.loop_bits, "the loop's number")


def loop_begin(config: Config) -> Packet:
    """A pulse: a LOOP begins."""
    return Packet(
        "loop_begin",
        (
            _valid(),
            _loop(config),
            Field("count", 32, "iterations"),
            Field("first_slot", config.template_bits, "first slot"),
            Field("last_slot", config.template_bits, "last slot"),
            Field("in_flight", 8, "launches that may be unfinished at a time; 0: 4"),
        ),
    )


def loop_answers(config: Config) -> Packet:
    """What became of loops' launches in the cycle before, a bit for each loop."""
    loops = config.loop_sections
    return Packet(
        "loop_answers",
        (
            Field("accepted", loops, "the loop's launch was accepted"),
            Field("full", loops, "no room for it: ring again"),
            Field("refused", loops, "it was refused for another reason"),
        ),
    )


def loop_step(config: Config) -> Packet:
    """A write of LoopExpander: a word of a task register, a launch's ring, or a loop's end.

    It is taken in a cycle in which the host has no write, and commits in the next one.
    """
    return Packet(
        "loop_step",
        (
            Field("valid", 1, "1: there is a step; it stands until it is taken"),
            Field("ring", 1, "1: the launch is rung"),
            Field("end", 1, "1: the LOOP ends"),
            _loop(config),
            Field("word", _WORD_BITS, "number of the word"),
            Field("data", 32, "the word; of an end 0, or code [7:0] and argument [31:16]"),
        ),
    )


def loop_end(config: Config) -> Packet:
    """A pulse: a launch of a loop has ended."""
    return Packet("loop_end", (_valid(), _loop(config), Field("finished", 1, "1: it has finished")))
