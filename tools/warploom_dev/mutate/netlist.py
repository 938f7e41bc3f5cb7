"""A component's netlist, its mutations, and all of them packed into one module."""

import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import amaranth.back.rtlil as rtlil
from amaranth.lib import wiring

from warploom_dev.yosys import run_yosys
from warploom_sim.cosim.lockstep.compilation import TOP
from warploom_sim.cosim.lockstep.ports import Ports

#: The packed module's extra input: 0 is the component as it is, k its k-th mutant.
SELECT: Final = "mutsel"
#: Flattened, with registers and memories as cells.
NETLIST: Final = "base.il"
PACKED: Final = "packed.v"

_READ: Final = f"""
read_rtlil source.il
prep -flatten -nordff -top {TOP}
opt -full
opt_clean -purge
check -assert
write_rtlil {NETLIST}
mutate -list {{count}} -seed {{seed}} -o list.txt
"""
# No fault of logic: what a clock does to a register is the library's. And a mutation of a
# register's output drops its initial value even while it is switched off; those of the readers of
# that output stand in the list themselves. Yosys cannot write a memory's port whose enable and
# resets, constant where it has no clock, are not.
_LEFT_OUT: Final = frozenset({"Q", "CLK", "RD_CLK", "WR_CLK", "RD_EN", "RD_ARST", "RD_SRST"})
#: So many more are asked for than are wanted, since some are left out.
_SURPLUS: Final = 3


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One change of one bit at one pin of one cell.

    Attributes
    ----------
    number : int
        From 1 up: the value of `SELECT` that switches it on.
    mode : str
        ``inv`` (inverted), ``const0``, ``const1`` (stuck), ``cnot0``, ``cnot1`` (inverted while
        bit ``control`` of the same pin is 0 or 1).
    cell, pin : str
        Where.
    bit : int
        Of the pin.
    control : int or None
        Of the pin.
    signal : str
        Name and bit of the signal there, empty if it has none.
    source : str
        The source lines that the cell comes from, ``file:line``, separated by spaces.
    """

    number: int
    mode: str
    cell: str
    pin: str
    bit: int
    control: int | None
    signal: str
    source: str

    @property
    def command(self) -> str:
        """The Yosys command that makes the change for good."""
        control = "" if self.control is None else f" -ctrlbit {self.control}"
        return (
            f"mutate -mode {self.mode} -module {TOP} -cell {self.cell} -port {self.pin}"
            f" -portbit {self.bit}{control}"
        )

    @property
    def text(self) -> str:
        """What is changed, and where, as reports say it."""
        control = "" if self.control is None else f" by bit {self.control}"
        signal = f" ({self.signal})" if self.signal else ""
        return f"{self.mode}{control} at {self.cell}.{self.pin}[{self.bit}]{signal}"


def list_mutations(
    component: wiring.Component, count: int, seed: int, folder: Path
) -> list[Mutation]:
    """Draw mutations from all of a component's netlist, which goes to ``folder``.

    Parameters
    ----------
    component : wiring.Component
        Not yet elaborated.
    count : int
        How many at most; a small netlist has fewer.
    seed : int
        Of the choice: the same netlist and seed give the same list anywhere.
    folder : Path
        Takes `NETLIST`.
    """
    text = rtlil.convert(component, name=TOP, ports=Ports.of(component).to_convert())
    (folder / "source.il").write_text(relative_sources(text))
    run_yosys("list", _READ.format(count=_SURPLUS * count, seed=seed), folder)
    return parse((folder / "list.txt").read_text(), count)


def rtl_hash(component: wiring.Component) -> str:
    """Return the SHA-256 of a component's RTLIL: the same as long as it is the same hardware.

    Parameters
    ----------
    component : wiring.Component
        Not yet elaborated.
    """
    ports = Ports.of(component).to_convert()
    text = rtlil.convert(component, name=TOP, ports=ports, emit_src=False)
    return hashlib.sha256(text.encode()).hexdigest()


def relative_sources(text: str) -> str:
    """Name sources from the current folder or the packages' on: Yosys draws by these names."""
    text = text.replace(f"{Path.cwd()}/", "")
    return re.sub(r'(attribute \\src "|\|)[^"|]*/site-packages/', r"\1", text)


def parse(text: str, count: int) -> list[Mutation]:
    """Read the first ``count`` useful lines of Yosys's list; each change is taken once."""
    found: dict[str, Mutation] = {}
    for line in text.splitlines():
        words = shlex.split(line.replace("\\", "\\\\"))
        if words[:1] != ["mutate"] or len(found) == count:
            continue
        options: dict[str, list[str]] = {}
        for name, value in zip(words[1::2], words[2::2], strict=True):
            options.setdefault(name, []).append(value)
        if options["-port"][0] in _LEFT_OUT:
            continue
        mutation = _mutation(len(found) + 1, options)
        found.setdefault(mutation.command, mutation)
    return list(found.values())


def _mutation(number: int, options: dict[str, list[str]]) -> Mutation:
    wire = options.get("-wire")
    control = options.get("-ctrlbit")
    return Mutation(
        number=number,
        mode=options["-mode"][0],
        cell=options["-cell"][0],
        pin=options["-port"][0],
        bit=int(options["-portbit"][0]),
        control=int(control[0]) if control else None,
        signal=f"{wire[0]}[{options['-wirebit'][0]}]" if wire else "",
        source=" ".join(options.get("-src", [])),
    )


def pack(mutations: Sequence[Mutation], folder: Path) -> str:
    """Return the Verilog of the netlist in ``folder`` with all mutations, chosen by `SELECT`."""
    width = select_bits(mutations)
    commands = (f"{m.command} -ctrl {SELECT} {width} {m.number}" for m in mutations)
    script = "\n".join(
        [f"read_rtlil {NETLIST}", *commands, "opt_clean", f"write_verilog -noattr {PACKED}", ""]
    )
    run_yosys("pack", script, folder)
    return (folder / PACKED).read_text()


def select_bits(mutations: Sequence[Mutation]) -> int:
    """Return the width of `SELECT`."""
    return max(1, len(mutations).bit_length())
