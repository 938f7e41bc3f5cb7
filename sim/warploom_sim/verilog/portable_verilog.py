"""Yosys's Verilog, made to run in every simulator and to pass Verilator's lint with -Wall."""

import re
from typing import Final

#: Yosys's register that is to start the combinational blocks, in each module that has some.
WAKE: Final = re.compile(r"^  reg (\\\$auto\$verilog_backend\S*) += 0;$", re.MULTILINE)

# Verilator starts them by itself and asks for an option where it meets a delay; to Yosys this would
# be a second initial value. Whoever else reads it waits for events, whatever macro it defines.
_WAKENED: Final = r"""\g<0>
`ifndef SYNTHESIS
`ifndef VERILATOR
  initial #0 \1 = 1; // starts each `always @*`
`endif
`endif"""

#: A combinational block of one statement, which Yosys writes without that register.
_ALONE: Final = re.compile(r"^  always @\*\n    (\S.*;)$", re.MULTILINE)
#: The first values of one memory's rows, or of several memories' with the same number of rows.
FIRST_ROWS: Final = re.compile(
    r"^ *initial begin\n((?: *\S+ ?\[\d+\] = \d+'[hd][0-9a-f]+;\n)+) *end\n", re.MULTILINE
)
#: Rooms whose memories FrontEnd does not have: the bench `any start` does not look at them.
_UNSEEN_ROOMS: Final = ("sm_side",)
_MODULE: Final = re.compile(r"^module .*?^endmodule$", re.MULTILINE | re.DOTALL)

#: Verilator's default rules that the Verilog breaks, and what it is that breaks them.
LINT: Final = {
    "ASCRANGE": "a signal of width 0, which nothing reads, is a wire [-1:0]",
    "CASEINCOMPLETE": "what a case does not set has its value from before the case",
    "CMPCONST": "a limit may be the largest number that its field holds",
    "WIDTHEXPAND": "of two operands Verilog widens the narrower, which is what is meant",
    "WIDTHTRUNC": "! of a number, and shifts of which the lowest bits are taken",
}
#: Rules that the Verilog breaks with -Wall alone, and what it is that breaks them.
LINT_ALL: Final = {
    "DECLFILENAME": "the file's name lacks the module's prefix",
    "PROCASSINIT": "a register has the value of its reset before the first clock, too",
    "UNUSEDSIGNAL": "each field of a packet has a wire, and a sum a carry, read or not",
    "VARHIDDEN": "a register may have the name of the part that it stands in",
}


def run_at_start(text: str) -> str:
    """Make each ``always @*`` of Yosys's Verilog run at time 0, as its hardware does.

    An ``always @*`` waits for its first event, and until then what it drives is X. Yosys reads a
    register in it that gets its value at time 0: an event in Verilog, but SystemVerilog gives
    initial values before any block begins. Here the register changes once more, when all wait.
    Blocks of one statement get the register, too: one that drives a constant never ran.
    """
    return WAKE.sub(_WAKENED, _MODULE.sub(_with_register, text))


def _with_register(module: re.Match[str]) -> str:
    """Return a module whose blocks of one statement read the register that starts the others."""
    text = module[0]
    found = WAKE.search(text)
    if found is None:
        return text
    register = found[1].replace("\\", "\\\\")
    return _ALONE.sub(rf"  always @* begin\n    if ({register} ) begin end\n    \1\n  end", text)


def lint_off() -> str:
    """Return comments that turn the rules off, for the rest of the file that they stand in."""
    rules = LINT | LINT_ALL
    width = max(map(len, rules))
    lines = [
        "//",
        "// Rules of Verilator's lint that generated Verilog breaks, off in this file. By default:",
        *(f"//   {rule:{width}}  {reason}" for rule, reason in LINT.items()),
        "// With -Wall:",
        *(f"//   {rule:{width}}  {reason}" for rule, reason in LINT_ALL.items()),
        *(f"/* verilator lint_off {rule} */" for rule in rules),
    ]
    return "".join(f"{line}\n" for line in lines)


def hide_first_rows(text: str, room: str) -> str:
    """Return the Verilog with memories' first values for simulators alone.

    Only memories whose start does not matter: the bench `any start` fills all memories of a
    FrontEnd with random values before the reset, and no output shows it afterwards. A block that
    is no part of FrontEnd keeps its values. A simulator of four states needs them: to it the
    exclusive or of a bit with itself is X.

    Parameters
    ----------
    text : str
        From Yosys.
    room : str
        Name of the package that has the block, as ``host``.
    """
    if room in _UNSEEN_ROOMS:
        return text
    return FIRST_ROWS.sub(r"`ifndef SYNTHESIS\n\g<0>`endif\n", text)


def about_hidden_rows() -> str:
    """Return the comment of a file in which they are hidden."""
    return (
        "//\n// Written with --no-init: only simulators see first values of memories, as long as\n"
        "// SYNTHESIS is not defined. After a reset no output shows what a memory held before.\n"
    )
