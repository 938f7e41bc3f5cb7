"""What LaunchPath says and gives back when a launch has ended."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream

from warploom_spec import Config, ErrorCode, Fate, layouts


def queue_record(m: Module, config: Config, oldest: Any) -> data.View:
    """Return the record of the oldest launch in the waiting queue, if it ends from there.

    Parameters
    ----------
    m : Module
        Gets the statements.
    config : Config
        Widths.
    oldest : OldestLaunch
        The launch.
    """
    # Of a layout's signal the stubs do not know that it is a view.
    record: Any = Signal(layouts.end_record(config).layout(), name="from_queue")
    failure = Mux(oldest.stream_broken, ErrorCode.STREAM_BROKEN, ErrorCode.NO_SM)
    m.d.comb += [
        record.ticket.eq(oldest.ticket),
        record.fate.eq(Mux(oldest.taken_back, Fate.SKIPPED, Fate.FAILED)),
        record.code.eq(Mux(oldest.taken_back, ErrorCode.OK, failure)),
    ]
    found: data.View = record
    return found


def release_entry(
    m: Module, release: Any, ended: stream.Interface, oldest: Any, ends_here: Signal
) -> None:
    """Give the reference on an ended launch's indices back, one cycle after its record.

    Of the dispatcher's record and one from the queue in the same cycle the dispatcher's counts.

    Parameters
    ----------
    m : Module
        Gets the statements.
    release : stream
        The index generator's; ``payload`` is the history entry.
    ended : stream of dispatch_end
        The dispatcher's records.
    oldest : OldestLaunch
        The oldest launch in the waiting queue.
    ends_here : Signal
        It ends from the queue in this cycle.
    """
    from_dispatcher = Signal.like(oldest.entry, name="from_dispatcher")
    for n, refers in enumerate(ended.payload.entries):
        with m.If(refers):
            m.d.comb += from_dispatcher.eq(n)
    m.d.sync += [
        release.valid.eq(ended.valid | (ends_here & oldest.prepared)),
        release.payload.eq(Mux(ended.valid, from_dispatcher, oldest.entry)),
    ]
