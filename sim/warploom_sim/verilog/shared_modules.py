"""Verilog in which what is made several times is one module with several instances.

Amaranth writes a module for each instance: 132 SMs were 132 times the same text. Equal modules are
found in RTLIL, bottom up, by their text alone.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import amaranth.back.rtlil as rtlil
from amaranth.back import verilog
from amaranth.hdl import Elaboratable

from warploom_spec import WarploomError

#: Amaranth numbers unnamed ports through the whole design; here each module counts its own.
_UNNAMED = re.compile(r"\\port\$\d+\$\d+")
#: A port's declaration with its number.
_PORT = re.compile(r"^(  wire .*(?:input|output|inout)) \d+ ")


@dataclass
class _Module:
    """One module of RTLIL: its attributes, and the lines between its name and its end."""

    attributes: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def convert(elaboratable: Elaboratable, name: str, ports: Sequence[Any] | None = None) -> str:
    """Return Verilog without source positions and attributes, equal modules written once.

    Parameters
    ----------
    elaboratable : Elaboratable
        What to convert.
    name : str
        The top module's name.
    ports : sequence, optional
        Its ports; those of the signature if not given.

    Raises
    ------
    WarploomError
        If there is no Yosys, or it fails; says how to get one.
    """
    given = {} if ports is None else {"ports": ports}
    text = rtlil.convert(elaboratable, name=name, emit_src=False, **given)
    try:
        return to_verilog(share(text), strip_internal_attrs=True)
    except verilog.YosysError as error:
        raise WarploomError(
            f"no Verilog for {name}: {error}; Yosys comes with: pip install 'warploom[sim]'"
        ) from error


def to_verilog(text: str, *, strip_internal_attrs: bool = False) -> str:
    """Return the Verilog of RTLIL: of ``rtlil.convert``'s that of ``verilog.convert``.

    Parameters
    ----------
    text : str
        The RTLIL.
    strip_internal_attrs : bool, optional
        Leave out the attributes that only tools read.

    Raises
    ------
    YosysError
        If there is no Yosys, or it fails.
    """
    # The second step of `verilog.convert`, which takes no text. It is private.
    convert_text: Any = vars(verilog)["_convert_rtlil_text"]
    return str(convert_text(text, strip_internal_attrs=strip_internal_attrs))


def share(text: str) -> str:
    """Return RTLIL in which equal modules are one."""
    modules = _parse(text)
    ports = {name: _number_ports(module) for name, module in modules.items()}
    for module in modules.values():
        _rename_connections(module, ports)
    while duplicates := _duplicates(modules):
        for name in duplicates:
            del modules[name]
        for module in modules.values():
            _retarget(module, duplicates)
    return "".join(
        "\n".join([*module.attributes, f"module {name}", *module.lines, "end\n"])
        for name, module in modules.items()
    )


def _parse(text: str) -> dict[str, _Module]:
    """Return a design's modules by name, in their order."""
    modules: dict[str, _Module] = {}
    current, inside = _Module(), False
    for line in filter(None, text.split("\n")):
        if inside and line == "end":
            current, inside = _Module(), False
        elif inside:
            current.lines.append(line)
        elif line.startswith("module "):
            modules[line.removeprefix("module ")] = current
            inside = True
        else:
            current.attributes.append(line)
    return modules


def _number_ports(module: _Module) -> dict[str, str]:
    """Number a module's unnamed ports; return the new name of each old one."""
    names: dict[str, str] = {}
    for line in module.lines:
        if line.startswith("  wire "):
            for old in _UNNAMED.findall(line):
                names.setdefault(old, f"\\port${len(names)}$0")
    module.lines = [
        # What a cell's ports are called is the business of the cell's module.
        line if line.startswith("    connect ") else _UNNAMED.sub(lambda m: names[m[0]], line)
        for line in module.lines
    ]
    for k, line in enumerate(module.lines):
        if line.startswith("    connect "):
            port, rest = line.removeprefix("    connect ").split(" ", 1)
            rest = _UNNAMED.sub(lambda m: names[m[0]], rest)
            module.lines[k] = f"    connect {port} {rest}"
    return names


def _rename_connections(module: _Module, ports: dict[str, dict[str, str]]) -> None:
    """Use the new names of the ports of a module's cells."""
    names: dict[str, str] = {}
    for k, line in enumerate(module.lines):
        if line.startswith("  cell "):
            names = ports.get(line.split(" ")[3], {})
        elif line.startswith("    connect "):
            port, rest = line.removeprefix("    connect ").split(" ", 1)
            module.lines[k] = f"    connect {names.get(port, port)} {rest}"


def _duplicates(modules: dict[str, _Module]) -> dict[str, str]:
    """Return for each module that is written like an earlier one the name of that one."""
    first: dict[str, str] = {}
    duplicates = {}
    for name, module in modules.items():
        content = _content(module)
        if content in first:
            duplicates[name] = first[content]
        first.setdefault(content, name)
    return duplicates


def _content(module: _Module) -> str:
    """Return what a module is, whatever the order of its ports and of its cells' connections.

    Both are named wherever they are used; their order follows from the rest of the design.
    """
    ports: list[str] = []
    others: list[str] = []
    attributes: list[str] = []
    connections: list[str] = []
    for line in module.lines:
        if line.startswith("  attribute "):
            attributes.append(line)
            continue
        if line.startswith("    connect "):
            connections.append(line)
            continue
        named = [*attributes, _PORT.sub(r"\1", line)]
        if _PORT.match(line):
            ports.append("\n".join(named))
        else:
            others += [*sorted(connections), *named]
            connections = []
        attributes = []
    return "\n".join([*module.attributes, *sorted(ports), *others])


def _retarget(module: _Module, duplicates: dict[str, str]) -> None:
    """Make instances of what is gone instances of its twin."""
    for k, line in enumerate(module.lines):
        if line.startswith("  cell "):
            kind, name = line.removeprefix("  cell ").split(" ")
            module.lines[k] = f"  cell {duplicates.get(kind, kind)} {name}"
