"""KernelQueue's parts, side by side."""

from typing import Any

from amaranth.hdl import Module

from warploom.launch._queue_acceptance import QueueAcceptance
from warploom.launch._queue_choice import QueueChoice
from warploom.launch._queue_commands import QueueAbort, QueueCommands, RoomNumbers
from warploom.launch._queue_ends import QueueEnds
from warploom.launch._queue_entries import EntryMemories, FreeEntries, NextEntries
from warploom.launch._queue_heads import Boundaries, ListHeads
from warploom.launch._queue_jobs import QueueJobs
from warploom.launch._queue_line import QueueFlight, QueueLine
from warploom.launch._queue_places import QueuePlaces
from warploom.launch._queue_records import QueueRecords
from warploom.launch._queue_shapes import QueueShape
from warploom.launch._queue_streams import QueueStreams
from warploom.launch._queue_timelines import (
    AcceptedCounts,
    StartedBases,
    StartedEntries,
    Timelines,
)


class QueueParts:
    """All parts of one KernelQueue.

    Parameters
    ----------
    ports
        The component.
    shape : QueueShape
        Its numbers.
    first_ticket : int
        The first launch's ticket.
    """

    def __init__(self, ports: Any, shape: QueueShape, first_ticket: int) -> None:
        self.ports, self.shape = ports, shape
        self.free, self.memories = FreeEntries(shape), EntryMemories(shape)
        self.next, self.started = NextEntries(shape), StartedEntries(shape)
        self.heads, self.boundaries = ListHeads(shape), Boundaries(shape)
        self.streams, self.jobs = QueueStreams(shape), QueueJobs(shape)
        self.accepted, self.timelines = AcceptedCounts(shape), Timelines(shape)
        self.bases = StartedBases(shape)
        self.choice, self.line = QueueChoice(shape), QueueLine(shape)
        self.flight = QueueFlight(shape) if shape.config.makes_indices else None
        self.places, self.ends = QueuePlaces(shape), QueueEnds(shape)
        self.acceptance = QueueAcceptance(shape, ports.sent, ports.checked)
        self.room = RoomNumbers(shape, first_ticket)
        self.commands = QueueCommands(shape, ports.command)
        self.abort = QueueAbort(shape)
        self.records = QueueRecords(shape, ports.record)

    def build(self, m: Module) -> None:
        """Add all parts to a module."""
        streams, choice, line, places = self.streams, self.choice, self.line, self.places

        def part(name: str) -> Module:
            """Return a module of its own for a part: its area can be told."""
            m.submodules[name] = inside = Module()
            return inside

        self.free.build(part("free_entries"))
        self.memories.build(part("entry_memories"))
        self.next.build(part("next_entries"))
        self.started.build(part("started_entries"))
        self.heads.build(part("heads"))
        self.boundaries.build(part("boundaries"))
        streams.build(part("streams"))
        self.jobs.build(part("jobs"), streams)
        self.accepted.build(part("accepted_counts"))
        self.timelines.build(part("timelines"))
        self.bases.build(part("started_bases"))
        line.build(part("line"), streams, choice, self.abort)
        if self.flight is not None:
            self.flight.build(part("flight"), line)
        choice.build(part("choice"), streams, [*line.ways(streams), *places.ways(streams)])
        places.build(part("places"), streams, choice, line)
        self.ends.build(part("ends"))
        self.acceptance.build(part("acceptance"), streams)
        self.room.build(part("room_numbers"))
        self.commands.build(part("commands"), streams)
        self.abort.build(part("abort"))
        self.records.words = self.memories.record
        self.records.build(part("records"), self.ends, self.jobs, self.commands)
