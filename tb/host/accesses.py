"""A host's accesses by the cycle in which they act: a write commits, a read is sampled.

BusPort hands an access on a cycle before. The tests of the blocks behind it name the cycle in which
the access acts, as their pages do.
"""

from tb.host.commands import ANSWER
from tb.support.record import Recording, record

#: BusPort's `bus_commit` and `bus_sample`, and `bus_answer`.
EARLIER = 1
ANSWERED = 2


class ByCycle:
    """Inputs by cycle, from cycle -1 on; ``write`` and ``read`` by the cycle in which they act.

    Parameters
    ----------
    idle : mapping
        The other inputs, or the value of an input in a cycle that ``ports`` do not name.
    ports : mapping
        Values by cycle of some inputs. In a cycle that is not named such an input is 0, if it has
        no value in ``idle``.
    """

    def __init__(self, idle, ports):
        self._idle = {"write": 0, "read": 0, **dict.fromkeys(ports, 0), **idle}
        self._ports = ports
        self._cycle = -EARLIER

    def next(self, outputs):
        """Return the next cycle's inputs."""
        del outputs
        values = {}
        for name, idle in self._idle.items():
            cycle = self._cycle + EARLIER * (name in ("write", "read"))
            values[name] = self._ports.get(name, {}).get(cycle, idle)
        self._cycle += 1
        return values


def recorded(block, script, cycles):
    """Return a recording from cycle 0 on, with each access in the cycle in which it acts.

    ``write_refused`` is 0 where no write commits: it means nothing there.
    """
    whole = record(block, script, cycles + EARLIER)
    acts = Recording(validity=whole.validity)
    for before, inputs, outputs in zip(
        whole.inputs, whole.inputs[EARLIER:], whole.outputs[EARLIER:], strict=False
    ):
        refused = outputs["write_refused"] if before["write"] else 0
        acts.note(
            inputs | {name: before[name] for name in ("write", "read")},
            {**outputs, "write_refused": refused},
        )
    return acts


def answers(seen):
    """Return what each read gave, by the cycle of its sampling: data, or None if refused."""
    found = {}
    for cycle in seen.cycles("read"):
        answer = ANSWER.unpack(seen.port("answer")[cycle + ANSWERED])
        found[cycle] = None if answer["refused"] else answer["data"]
        assert not (answer["refused"] and answer["data"])
    return found
