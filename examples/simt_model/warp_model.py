"""One warp: lanes that have a pc each, and execute the lowest one among them together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from simt_model.instruction import IllegalInstruction, Instruction, decode
from simt_model.memory_model import Fault, Lanes, Memory, Words

_ARGUMENTS: Final = 10
_MASK: Final = 0xFFFFFFFF
_SIZES: Final = {"b": 1, "h": 2, "w": 4}


@dataclass(frozen=True)
class Step:
    """One turn of a warp.

    Attributes
    ----------
    pc : int
        Address of the instruction.
    lanes : ndarray of bool
        Lanes that executed it.
    rd : int
        Register that was written; 0: none.
    values : ndarray of uint32
        The register's values afterwards, of all lanes.
    """

    pc: int
    lanes: Lanes
    rd: int
    values: Words


class WarpModel:
    """The lanes of a warp, their registers, and one instruction in each turn.

    Parameters
    ----------
    mask : ndarray of bool
        Lanes that are threads.
    entry, arguments : int
        The first pc, and the initial value of a0.
    csrs : mapping of int to ndarray
        Value of each CSR, one a lane.

    Attributes
    ----------
    registers : ndarray of uint32
        x0 to x31, a row of lanes each.
    pc : ndarray of uint32
        Of each lane.
    running, waiting : ndarray of bool
        Lanes that have not ended, and those of them that wait at the barrier.
    """

    def __init__(self, mask: Lanes, entry: int, arguments: int, csrs: Mapping[int, Words]):
        self._csrs = csrs
        self.registers = np.zeros((32, len(mask)), np.uint32)
        self.registers[_ARGUMENTS] = arguments & _MASK
        self.pc = np.full(len(mask), entry & _MASK, np.uint32)
        self.running = mask.copy()
        self.waiting = np.zeros(len(mask), np.bool_)

    @property
    def runnable(self) -> Lanes:
        """Lanes that can be chosen."""
        return self.running & ~self.waiting

    def open_barrier(self) -> None:
        """Let the waiting lanes go on."""
        self.waiting[:] = False

    def step(self, memory: Memory) -> Step:
        """Execute the lowest pc of the runnable lanes, of which there is at least one.

        Raises
        ------
        Fault
            If the instruction is illegal, jumps to a misaligned address, or may not access memory.
        """
        runnable = self.runnable
        pc = int(self.pc[runnable].min())
        lanes = runnable & (self.pc == pc)
        try:
            instruction = decode(memory.fetch(pc))
        except IllegalInstruction as error:
            raise Fault(str(error)) from error
        target = np.full(len(lanes), pc + 4, np.uint32)
        result = self._execute(instruction, pc, lanes, target, memory)
        if (target[lanes] & 3).any():
            raise Fault(f"a jump at {pc:#x} has a misaligned target")
        rd = instruction.rd or 0
        if rd and result is not None:
            self.registers[rd, lanes] = result[lanes]
        self.pc[lanes] = target[lanes]
        self.waiting |= lanes & (instruction.name == "barrier")
        ended = lanes & (target == 0)
        self.running &= ~ended
        self.waiting &= ~ended
        return Step(pc, lanes, rd, self.registers[rd].copy())

    def _execute(
        self, one: Instruction, pc: int, lanes: Lanes, target: Words, memory: Memory
    ) -> Words | None:
        """Return what rd gets, if anything; change ``target`` where lanes jump."""
        immediate = np.uint32(one.immediate & _MASK)
        a = self.registers[one.rs1 or 0]
        b = self.registers[one.rs2 or 0] if one.rs2 is not None else _same(a, one.immediate)
        name = one.name
        match name:
            case "lui":
                return _same(a, one.immediate)
            case "auipc":
                return _same(a, pc + one.immediate)
            case "jal" | "jalr":
                link = _same(a, pc + 4)
                base = a if name == "jalr" else _same(a, pc)
                target[:] = (base + immediate) & np.uint32(0xFFFFFFFE if name == "jalr" else _MASK)
                return link
            case "beq" | "bne" | "blt" | "bge" | "bltu" | "bgeu":
                taken = _taken(name, a, b)
                target[taken] = (pc + one.immediate) & _MASK
                return None
            case "lb" | "lh" | "lw" | "lbu" | "lhu":
                signed = not name.endswith("u")
                return memory.load(a + immediate, lanes, _SIZES[name[1]], signed)
            case "sb" | "sh" | "sw":
                memory.store(a + immediate, lanes, _SIZES[name[1]], b)
                return None
            case "csr":
                return self._csrs[one.immediate]
            case "fence" | "barrier":
                return None
        return _arithmetic(name.removesuffix("i") if name != "sltiu" else "sltu", a, b)


def _same(like: Words, value: int) -> Words:
    """Return one value for all lanes."""
    return np.full(len(like), value & _MASK, np.uint32)


def _taken(name: str, a: Words, b: Words) -> Lanes:
    """Return the lanes whose condition holds."""
    signed = name in ("blt", "bge")
    less: Lanes = a.view(np.int32) < b.view(np.int32) if signed else a < b
    holds: dict[str, Lanes] = {"beq": a == b, "bne": a != b}
    return holds.get(name, less if name.startswith("blt") else ~less)


def _arithmetic(name: str, a: Words, b: Words) -> Words:
    """Return what an instruction makes of two values a lane."""
    shift = b & np.uint32(31)
    match name:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "sll":
            return a << shift
        case "srl":
            return a >> shift
        case "sra":
            return (a.view(np.int32) >> shift.view(np.int32)).view(np.uint32)
        case "slt":
            return (a.view(np.int32) < b.view(np.int32)).astype(np.uint32)
        case "sltu":
            return (a < b).astype(np.uint32)
        case "xor":
            return a ^ b
        case "or":
            return a | b
        case "and":
            return a & b
        case "mul":
            return a * b
        case "mulh":
            return _high(a.view(np.int32), b.view(np.int32))
        case "mulhsu":
            return _high(a.view(np.int32), b)
        case "mulhu":
            return (a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(32)).astype(np.uint32)
    raise AssertionError(name)


def _high(a: np.ndarray, b: np.ndarray) -> Words:
    """Return the upper half of products, of which at least one factor has a sign."""
    product = a.astype(np.int64) * b.astype(np.int64)
    return (product >> 32 & _MASK).astype(np.uint32)
