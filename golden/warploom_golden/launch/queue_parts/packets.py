"""The packets at KernelQueue's ports."""

from warploom_spec import Config, layouts, loop_packets, queue_packets, resident_packets


class QueuePackets:
    """The packets at KernelQueue's ports that its model and its user read or make.

    Parameters
    ----------
    config : Config
        Their widths.
    """

    def __init__(self, config: Config):
        self.sent = resident_packets.resident_sent(config)
        self.checked = resident_packets.resident_launch(config)
        self.command = resident_packets.resident_command(config)
        self.ended = resident_packets.resident_end(config)
        self.word = resident_packets.record_word(config)
        self.answer_packet = queue_packets.queue_answer(config)
        self.code_packet = queue_packets.queue_code(config)
        self.stream_packet = queue_packets.queue_stream(config)
        self.timeline_packet = queue_packets.timeline_step(config)
        self.record_packet = queue_packets.final_record_words(config)
        self.loop_end_packet = loop_packets.loop_end(config) if config.has_loops else None
        self.decision_packet = layouts.index_decision(config) if config.makes_indices else None
