"""A target's Verilog, the netlist that ``warploom verilog`` writes, and its ports."""

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass

from amaranth.hdl import Shape

from warploom_dev.synth.port_bits import PORTS
from warploom_dev.synth.targets import Target
from warploom_sim.failure import ProgramError
from warploom_sim.verilog.generate import PREFIX, child_environment, component_text
from warploom_sim.verilog.header import ports
from warploom_spec import WarploomError


@dataclass(frozen=True, kw_only=True)
class Port:
    """One port of the Verilog: name, ``in`` or ``out``, width."""

    name: str
    direction: str
    bits: int


@dataclass(frozen=True, kw_only=True)
class Source:
    """A target's Verilog.

    Attributes
    ----------
    text : str
        The Verilog.
    ports : tuple[Port, ...]
        All but clock and reset, none of width 0.
    netlist_hash : str
        SHA-256 of the Verilog without its comments.
    """

    text: str
    ports: tuple[Port, ...]

    @property
    def netlist_hash(self) -> str:
        """What the figures belong to; a comment changes no figure."""
        lines = (line for line in self.text.splitlines() if not line.startswith(("//", "/*")))
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    @property
    def port_bits(self) -> int:
        """Bits of all ports but clock and reset."""
        return sum(port.bits for port in self.ports)


def generate(target: Target) -> Source:
    """Generate a target's Verilog in a process of its own, the same every time.

    Raises
    ------
    WarploomError
        If there is no Yosys, or the ports are not those of the packets.
    ProgramError
        If the component does not elaborate.
    """
    key = json.dumps(target.key)
    done = subprocess.run(
        [sys.executable, "-m", __name__, key],
        env=child_environment(),
        capture_output=True,
        text=True,
    )
    if done.returncode == 2:
        raise WarploomError(done.stderr.strip())
    if done.returncode:
        raise ProgramError(f"generating Verilog of {target.name} failed:\n{done.stderr}")
    made = json.loads(done.stdout)
    source = Source(text=made["text"], ports=tuple(Port(**port) for port in made["ports"]))
    check_ports(target, source.ports)
    return source


def check_ports(target: Target, found: tuple[Port, ...]) -> None:
    """Refuse ports that are narrower or wider than the packets of the specification say.

    Raises
    ------
    WarploomError
        Names the port and both widths.
    """
    wanted = {name: bits for name, bits in PORTS[target.block](target.parameters).items() if bits}
    bits: dict[str, int] = {}
    for port in found:
        member = port.name.partition("__")[0]
        bits[member] = bits.get(member, 0) + port.bits
    for name in sorted({*wanted, *bits}):
        if wanted.get(name) != bits.get(name):
            raise WarploomError(
                f"port {name} of {target.name} has {bits.get(name)} bits;"
                f" the packets say {wanted.get(name)}"
            )


def _child(key: str) -> int:
    block, config, policy, reclaim = json.loads(key)
    target = Target(block=block, config=config, policy=policy, reclaim=reclaim)
    component = target.component()
    found = [
        {"name": name, "direction": direction, "bits": Shape.cast(shape).width}
        for name, direction, shape in ports(component)
    ]
    try:
        text = component_text(component, target.module)
    except WarploomError as error:
        print(error, file=sys.stderr)
        return 2
    json.dump({"text": text, "ports": [port for port in found if port["bits"]]}, sys.stdout)
    return 0


def top_module(target: Target) -> str:
    """Return the name of the target's Verilog module."""
    return PREFIX + target.module


if __name__ == "__main__":
    sys.exit(_child(sys.argv[1]))
