"""Filter, iterator, packer and index memory together: a block shape's indices are made once."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from warploom.index.config_filter import ConfigFilter
from warploom.index.index_iterator import IndexIterator
from warploom.index.index_memory import IndexMemory
from warploom.index.index_packer import IndexPacker
from warploom_spec import Config, layouts, timing


class IndexGenerator(wiring.Component):
    """Make, pack and keep the thread indices of every block shape that is not in the memory yet.

    ConfigFilter -> IndexIterator -> IndexPacker -> IndexMemory. A configuration accepted in t
    writes its first warp in t + `timing.index_miss` when nothing is in flight and nothing stalls.

    Parameters
    ----------
    config : Config
        See the four blocks.
    memory : bool
        Whether the component contains the index memory; else it ends with the stream ``write``.
    """

    i: stream.Interface
    cancel: Signal
    needs_release: Signal
    decision: stream.Interface
    done: stream.Interface
    release: stream.Interface
    error: data.View
    error_count: Signal
    accepted: data.View
    write: stream.Interface
    written: data.View
    written_valid: Signal
    read: stream.Interface
    data: stream.Interface

    def __init__(self, config: Config, *, memory: bool = True) -> None:
        self._config = config
        self._memory = memory
        decision = stream.Signature(layouts.index_decision(config).layout())
        packed = layouts.packed_warp(config).layout()
        index_read = stream.Signature(layouts.index_read(config).layout())
        index_data = stream.Signature(layouts.index_data(config).layout())
        behind = {
            # The warp that is written in a cycle with `written_valid`.
            "written": Out(packed),
            "written_valid": Out(1),
            # IndexMemory's.
            "read": In(index_read),
            "data": Out(index_data),
        }
        super().__init__(
            {
                # ConfigFilter's. `done` of a miss comes in the cycle of its last write
                # (combinational from `write.ready` without memory).
                "i": In(stream.Signature(layouts.index_config(config).layout())),
                "cancel": In(1),
                "needs_release": Out(1),
                "decision": Out(decision),
                "done": Out(decision),
                "release": In(stream.Signature(unsigned(config.entry_bits))),
                "error": Out(layouts.error_record(config).layout()),
                "error_count": Out(timing(config).error_counter_bits),
                "accepted": Out(layouts.index_region(config).layout()),
                # `write`: each packed warp; `ready` may stall at any time.
                **(behind if memory else {"write": Out(stream.Signature(packed))}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        m.submodules.config_filter = config_filter = ConfigFilter(config)
        m.submodules.index_iterator = iterator = IndexIterator(config)
        m.submodules.index_packer = packer = IndexPacker(config)
        for name in ("i", "decision", "done", "release"):
            outer, inner = flipped(getattr(self, name)), getattr(config_filter, name)
            connect(m, outer, inner)
        connect(m, config_filter.o, iterator.i)
        connect(m, iterator.o, packer.i)
        m.d.comb += [
            config_filter.cancel.eq(self.cancel),
            self.needs_release.eq(config_filter.needs_release),
            self.error.eq(config_filter.error),
            self.error_count.eq(config_filter.error_count),
            self.accepted.eq(config_filter.accepted),
            config_filter.finished.eq(packer.o.valid & packer.o.ready & packer.o.payload.last),
        ]
        if not self._memory:
            connect(m, packer.o, flipped(self.write))
            return m
        m.submodules.index_memory = memory = IndexMemory(config)
        connect(m, packer.o, memory.write)
        connect(m, flipped(self.read), memory.read)
        connect(m, memory.data, flipped(self.data))
        m.d.comb += [
            memory.accepted.eq(config_filter.accepted),
            self.written.eq(packer.o.payload),
            self.written_valid.eq(packer.o.valid),
        ]
        return m
