"""The pulses by which KernelQueue and LaunchPath say what became of launches and commands."""

from warploom_spec import Config, loop_packets, queue_packets, resident_packets
from warploom_spec.packet import Packet


def queue_pulses(config: Config) -> dict[str, Packet]:
    """Return the packet of each pulse by its port."""
    code = queue_packets.queue_code(config)
    of_loops = {"loop_end": loop_packets.loop_end(config)} if config.has_loops else {}
    return {
        **of_loops,
        "timeline": queue_packets.timeline_step(config),
        "answer": queue_packets.queue_answer(config),
        "command_answer": code,
        "abort_answer": code,
        "killed": queue_packets.queue_stream(config),
        "record": resident_packets.record_word(config),
    }
