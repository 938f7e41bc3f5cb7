"""Hosts on AXI4-Lite in a lockstep run: commands as addresses and data, each at their own pace."""

from collections import deque

from tb.host.commands import READ, WRITE
from tb.host.core_behaviour import Cores
from warploom_sim.cosim.lockstep import Pace
from warploom_sim.cosim.lockstep.stimulus import RATES
from warploom_spec import host_packets, preset

#: Chances of a cycle that hosts send or take something, where they hurry.
HURRIED = (0.9, 1.0)

# The bus is the same in every configuration.
ADDRESS, DATA = host_packets.bus_address(preset("tiny")), host_packets.bus_data(preset("tiny"))


class AxilHosts:
    """The bus's five channels, driven by commands.

    Parameters
    ----------
    context : Context
        The run's.
    commands : Commands
        Says what is written and read next.

    With the run's option ``hurry`` the hosts seldom pause.
    """

    def __init__(self, context, commands):
        self._rng = context.rng
        self._commands = commands
        self._ahead = {"addr": deque(), "data": deque()}
        rates = HURRIED if context.options.get("hurry") else RATES

        def pace(name):
            return Pace(context.case.rng(f"pace/{name}"), rates)

        self._ends = [
            context.driver("axil__aw", self._parts("addr"), pace("aw")),
            context.driver("axil__w", self._parts("data"), pace("w")),
            context.driver("axil__ar", self._reads(), pace("ar")),
            context.sink("axil__b", pace("b")),
            context.sink("axil__r", pace("r")),
        ]

    def next(self, outputs):
        """Return the channels' inputs of the next cycle."""
        if outputs is None:
            for queue in self._ahead.values():
                queue.clear()
        inputs = {}
        for end in self._ends:
            inputs |= end.next(outputs)
        return inputs

    def _parts(self, part):
        """Yield one channel's words of the writes; what the other channel has yet to send waits."""
        while True:
            if not self._ahead[part]:
                write = WRITE.unpack(self._commands.write())
                low = self._rng.randrange(4)
                self._ahead["addr"].append(
                    ADDRESS.pack({"addr": 4 * write["address"] + low, "prot": low})
                )
                self._ahead["data"].append(
                    DATA.pack({"data": write["data"], "strb": write["strobes"]})
                )
            yield self._ahead[part].popleft()

    def _reads(self):
        while True:
            address = READ.unpack(self._commands.read())["address"]
            yield ADDRESS.pack({"addr": 4 * address, "prot": 0})


def cores_of_units(context, config):
    """Return what plays the cores of every unit, result words included."""
    ends = []
    for unit in range(config.units):
        ends.append(context.driver(f"cores__{unit}__result"))
        prefix = f"cores__{unit}__"
        ends.append(Cores(config, context.case.rng(prefix), prefix))
    return ends
