"""One run of a workload through the event model with streams as queues."""

from dataclasses import dataclass

from warploom_golden.preemption.records import PutBack
from warploom_golden.preemption.streams import EventQueue, QueuedModel, SentLaunch
from warploom_golden.preemption.streams.event_log import FinalRecord
from warploom_golden.replay.event_dispatcher import SmBehaviour
from warploom_sim.methods.preempt.host import MeasuringHost
from warploom_sim.methods.preempt.measure import Run, Setting
from warploom_sim.methods.preempt.workload import Workload
from warploom_spec import LaunchDescriptor, timing


@dataclass
class _Ports:
    """What a `MeasuringHost` asks of a queue, at the ports of one with a queue for each stream.

    Attributes
    ----------
    queue : EventQueue
        The queue.
    sent : int
        Launches that were sent. Each finds room, and so is accepted: the k-th one's ticket is k.
    popped : int
        Records that were popped.
    pops : bool
        Whether the record that is shown may be popped: one is in a cycle.
    """

    queue: EventQueue
    sent: int = 0
    popped: int = 0
    pops: bool = True

    def room(self, priority: int) -> bool:
        """Tell whether a launch that is sent in this cycle finds room."""
        return self.queue.room(priority)

    def launch(self, launch: LaunchDescriptor) -> tuple[int, int]:
        """Send a launch; return its ticket, and no code."""
        self.queue.send(SentLaunch(launch))
        self.sent += 1
        return self.sent, 0

    def take_record(self) -> FinalRecord | None:
        """Pop the record that is shown, at most one in a cycle."""
        if not self.pops or not self.queue.has_record:
            self.pops = True
            return None
        self.pops = False
        self.queue.pop()
        self.popped += 1
        return self.queue.log.records[self.popped - 1]


class StreamHost:
    """A `MeasuringHost` at the ports of the event model with streams as queues."""

    def __init__(self, host: MeasuringHost):
        self._host = host
        self._ports: _Ports | None = None

    @property
    def wake(self) -> int:
        """The cycle in which the next urgent launch is due."""
        return self._host.wake

    def step(self, cycle: int, queue: EventQueue) -> None:
        """Pop a record, then send at most one launch."""
        if self._ports is None:
            self._ports = _Ports(queue)
        self._host.step(cycle, self._ports)


def run_streams(workload: Workload, setting: Setting, ahead: int | None = None) -> Run:
    """Run a workload as `measure.run` does, with a queue for each stream.

    Latencies are counted from the acceptance, ``launch_check`` cycles after the launch was sent.

    Parameters
    ----------
    workload : Workload
        The low and the urgent launches.
    setting : Setting
        The machine and the arrivals.
    ahead : int or None
        Most low launches that may be sent and unfinished; None: as many as there is room for.
    """
    host = MeasuringHost(
        workload.low,
        workload.urgent,
        count=setting.count,
        distance=setting.distance,
        seed=setting.seed,
        ahead=ahead,
    )
    behaviour = SmBehaviour(report_time=setting.report_time)
    model = QueuedModel(setting.config, sm=behaviour, seed=setting.seed, knee=setting.knee)
    model.run(StreamHost(host))
    check, log = timing(setting.config).launch_check, model.log
    starts = {each.ticket: each.cycle for each in log.begins}
    arrivals = host.arrivals
    return Run(
        latencies=tuple(starts[ticket] - sent - check for ticket, sent in arrivals.items()),
        cycles=log.records[-1].made,
        urgent_starts=tuple(starts[ticket] for ticket in arrivals),
        low_ends=tuple(each.made for each in log.records if each.ticket not in arrivals),
        put_back=tuple(PutBack(*each) for each in log.put_back),
        lookups=tuple((each.cycle, each.hit) for each in log.decisions),
    )
