"""What ERROR reads in each section, from the answers that end commands."""

from functools import reduce
from operator import or_
from typing import Any, Final

from amaranth.hdl import C, Cat, Module, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import number_of
from warploom.lib.rows import style
from warploom_spec import Config, host_packets
from warploom_spec.host_errors import HostError

_WIDTHS: Final = {"code": host_packets.HOST_CODE_BITS, "argument": host_packets.FAILURE_BITS}


def explanation(sections: int) -> data.StructLayout:
    """Return what explains the end of a section's command: whose, one-hot or 0, and why."""
    return data.StructLayout({"sections": sections, **_WIDTHS})


class Errors(wiring.Component):
    """Keep which answer explains each section's last command, and show ERROR of one section.

    Answers of each kind stand in a memory of their own, as several may come in one cycle, each for
    another section. A section has a bit for each kind: the latest answer's is 1.

    Parameters
    ----------
    config : Config
        ``sections``, ``units``.
    kinds : dict of str and bool
        The kinds of answers, and whether they have an argument.
    """

    clear: Signal
    interrupted: Signal
    ended: Signal
    section: Signal
    shows: Signal
    word: Signal
    shows_unit: Signal

    def __init__(self, config: Config, kinds: dict[str, bool]) -> None:
        self._config, self._kinds = config, kinds
        sections = config.sections
        self._bits = max(1, (sections - 1).bit_length())
        super().__init__(
            {
                # Pulses, in the cycle before: the section's ERROR is 0, or `RESET`, from the next
                # cycle on. They win over the others.
                "clear": In(sections),
                "interrupted": In(sections),
                # Pulse: a unit's own words explain the section's command from the next cycle on.
                "ended": In(config.units),
                # The command completed in the cycle before.
                **{name: In(explanation(sections)) for name in kinds},
                # The section whose ERROR is read, and whether it is: one-hot or 0.
                "section": In(self._bits),
                "shows": In(sections),
                # ERROR in the same cycle, but what its unit says; whether the unit's words are it.
                "word": Out(32),
                "shows_unit": Out(config.units),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        kinds = {name: getattr(self, name) for name in self._kinds}
        ended = Cat(self.ended, C(0, config.sections - config.units))
        cleared = self.clear | self.interrupted
        event = Signal(config.sections)
        m.d.comb += event.eq(
            reduce(or_, (kind.sections for kind in kinds.values()), cleared | ended)
        )
        stays = ~event
        is_reset = self._latest(m, "is_reset", self.interrupted, stays)
        of_unit = self._latest(m, "of_unit", ended & ~cleared, stays)
        m.d.comb += self.shows_unit.eq(of_unit & self.shows)
        reset = (is_reset & self.shows).any().replicate(host_packets.HOST_CODE_BITS)
        code: Value = reset & int(HostError.RESET)
        argument: Value = C(0, host_packets.FAILURE_BITS)
        for name, kind in kinds.items():
            latest = self._latest(m, f"is_{name}", kind.sections & ~cleared, stays)
            read = self._read(m, name, kind)
            shown = (latest & self.shows).any()
            code = code | (read.code & shown.replicate(len(read.code)))
            if self._kinds[name]:
                argument = argument | (read.argument & shown.replicate(len(read.argument)))
        m.d.comb += self.word.eq(Cat(code, C(0, 16 - len(code)), argument))
        return m

    def _latest(self, m: Module, name: str, begins: Value, stays: Value) -> Signal:
        """Keep for each section whether its latest answer is of one kind."""
        held = Signal(self._config.sections, name=name)
        m.d.sync += held.eq(begins | (held & stays))
        return held

    def _read(self, m: Module, name: str, kind: Any) -> Any:
        """Keep the answers of one kind; return that of the section that is read."""
        depth = 1 << self._bits
        fields = _WIDTHS if self._kinds[name] else {"code": _WIDTHS["code"]}
        kept: memory.Memory = memory.Memory(
            shape=data.StructLayout(fields), depth=depth, init=[], attrs=style(depth)
        )
        m.submodules[name] = kept
        writer: Any = kept.write_port()
        reader: Any = kept.read_port(domain="comb")
        m.d.comb += [
            writer.addr.eq(number_of(kind.sections)),
            writer.en.eq(kind.sections.any()),
            *(writer.data[field].eq(kind[field]) for field in fields),
            reader.addr.eq(self.section),
        ]
        return reader.data
