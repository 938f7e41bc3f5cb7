"""Packets of KernelQueue's cycle model."""

from typing import NamedTuple

from warploom_golden.launch.queue_parts.packets import QueuePackets
from warploom_golden.launch.queue_parts.preempts import Counts
from warploom_golden.launch.queue_parts.rows import Launch
from warploom_spec import layouts, resident_packets
from warploom_spec.config import Config
from warploom_spec.packet import Packet
from warploom_spec.queue import FinalFate, Mode, RecordKind
from warploom_spec.queue_packets import COUNT_BITS, WAIT_BITS

#: Lowest bit of the drained ones in a PREEMPT's word 3.
DRAINED_FROM = 16


class Run(NamedTuple):
    """What a record says of a launch's last run; 0 without one (13, 17, 18)."""

    offered: bool = False
    cycles: int = 0
    first_offer: int = 0
    reset_as_drain: bool = False


class Packets(QueuePackets):
    """Unpacks inputs and packs outputs.

    Parameters
    ----------
    config : Config
        Their widths.
    """

    def __init__(self, config: Config):
        super().__init__(config)
        self._start = resident_packets.resident_start(config)
        self._words = layouts.launch_words(config)
        self._index = layouts.index_config(config) if config.makes_indices else None

    def answer(self, ticket: int, count: int, code: int = 0, argument: int = 0) -> int:
        """Pack an answer to a launch (12)."""
        fields = {"ticket": ticket, "code": code, "argument": argument}
        return self.answer_packet.pack({"valid": 1, **fields, "count": count % (1 << WAIT_BITS)})

    def code(self, code: int) -> int:
        """Pack an answer to a command or an ABORT."""
        return self.code_packet.pack({"valid": 1, "code": code})

    def killed(self, stream: int) -> int:
        """Pack ``killed``."""
        return self.stream_packet.pack({"valid": 1, "stream": stream})

    def timeline(self, stream: int, count: int) -> int:
        """Pack a step of a timeline (16)."""
        count %= 1 << COUNT_BITS
        return self.timeline_packet.pack({"valid": 1, "stream": stream, "count": count})

    def loop_end(self, loop: int, *, finished: bool) -> int:
        """Pack the end of a loop's launch (32)."""
        assert self.loop_end_packet is not None
        return self.loop_end_packet.pack({"valid": 1, "loop": loop, "finished": finished})

    def history(self, decision: int) -> int:
        """Return the history entry that a decision names."""
        assert self.decision_packet is not None
        return self.decision_packet.unpack(decision)["entry"]

    def request(self, launch: Launch) -> int:
        """Pack a head's index configuration (22)."""
        assert self._index is not None
        values = {**launch.fields, "address": launch.fields["index_address"]}
        return _packed(self._index, values)

    def start(self, launch: Launch) -> int:
        """Pack ``start`` (22)."""
        own = {"entry": launch.entry, "wait_mode": int(launch.fields["mode"] == Mode.WAIT)}
        return _packed(self._start, {**launch.fields, **own})

    def words(self, launch: Launch) -> int:
        """Pack ``words`` (30)."""
        return _packed(self._words, {**launch.fields, "ticket": launch.ticket})

    def record(
        self, launch: Launch, fate: FinalFate, code: int, kills: int, run: Run
    ) -> tuple[int, ...]:
        """Return a launch's record as words (8).

        Its last one is written later, and its number only where there are loops.
        """
        return self._record_words(
            ticket=launch.ticket,
            code=code,
            fate=fate,
            kind=RecordKind.LAUNCH,
            kills=kills,
            reset_as_drain=run.reset_as_drain,
            stream=launch.stream,
            offered=run.offered,
            word2=run.cycles,
            word3=launch.number % (1 << WAIT_BITS),
            accepted=launch.clock,
            first_offer=run.first_offer,
        )

    def preempt_record(self, counts: Counts) -> tuple[int, ...]:
        """Return a PREEMPT's record as words (29)."""
        return self._record_words(
            kind=RecordKind.PREEMPT,
            word2=counts.finished,
            word3=counts.killed | counts.drained << DRAINED_FROM,
            word4=counts.skipped,
            accepted=counts.clock,
        )

    def _record_words(self, **values: int) -> tuple[int, ...]:
        return self.record_packet.pack({**dict.fromkeys(self.record_packet.by_name, 0), **values})


def _packed(packet: Packet, values: dict[str, int]) -> int:
    """Pack the packet's fields of more values."""
    return packet.pack({field.name: values[field.name] for field in packet.present})
