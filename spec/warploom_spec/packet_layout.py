"""A packet's Amaranth layout, which still knows the packet that it was made from."""

from amaranth.lib import data

from warploom_spec.packet import Packet


class PacketLayout(data.StructLayout):
    """The same fields at the same bits.

    Attributes
    ----------
    packet : Packet
        What the layout was made from: who finds the layout at a port can name the fields' numbers.
    """

    def __init__(self, packet: Packet) -> None:
        super().__init__({f.name: f.bits for f in packet.present})
        self.packet = packet
