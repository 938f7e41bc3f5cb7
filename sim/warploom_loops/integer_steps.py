"""Symbolic effects of integer instructions, one function for each kind of instruction."""

from collections.abc import Callable
from typing import Final

from warploom_loops import conditions
from warploom_loops.events import EventKind
from warploom_loops.instructions import Operand
from warploom_loops.machine_state import Flags, bytes_of, join_bytes
from warploom_loops.registers import PARTS, X87
from warploom_loops.step import Step
from warploom_loops.values import (
    FRAME,
    Value,
    extract,
    join_parts,
    low,
    multiply,
    offset_from,
    operation,
    sign_extend,
    zero_extend,
)

#: In bytes. At a function's entry the stack pointer is 8 above a multiple of this (System V ABI).
_STACK_ALIGNMENT: Final = 16
#: Largest memory operand, in bytes, that is followed when the instruction is unknown.
_LARGEST_STORE: Final = 64
#: Instructions that enter the operating system, or that store to memory that no operand names.
_SYSTEM: Final = frozenset(
    {"syscall", "sysenter", "int", "maskmovdqu", "maskmovq", "xsave", "fxsave"}
)


def _bits(operand: Operand) -> int:
    return 8 * operand.size


def _read_like(step: Step, operand: Operand, bits: int) -> Value:
    """Return an operand as ``bits`` bits; the decoder has sign-extended a shorter number."""
    if operand.kind == "number":
        return Value(bits, operand.number)
    return low(step.read(operand), bits)


def _pair(step: Step) -> tuple[Operand, Value, Value]:
    """Return the target, its value, and the source's value in the target's width."""
    target, source = step.instruction.operands
    return target, step.read(target), _read_like(step, source, _bits(target))


def move(step: Step) -> None:
    """Run ``mov``: copy the source to the target."""
    target, source = step.instruction.operands
    step.write(target, _read_like(step, source, _bits(target)))


def move_zero(step: Step) -> None:
    """Run ``movzx``: copy the source to a wider target, the upper bits 0."""
    target, source = step.instruction.operands
    step.write(target, zero_extend(step.read(source), _bits(target)))


def move_sign(step: Step) -> None:
    """Run ``movsx``: copy the source to a wider target, the upper bits equal to the sign."""
    target, source = step.instruction.operands
    step.write(target, sign_extend(step.read(source), _bits(target)))


def address(step: Step) -> None:
    """Run ``lea``: write the address of a memory operand, without a load."""
    target, source = step.instruction.operands
    step.write(target, low(step.address(source), _bits(target)))


def add(step: Step) -> None:
    """Run ``add``."""
    target, a, b = _pair(step)
    result = a + b
    step.write(target, result)
    step.state.flags = Flags("sum", result, Value(result.bits))


def subtract(step: Step) -> None:
    """Run ``sub``."""
    target, a, b = _pair(step)
    step.write(target, a - b)
    step.state.flags = Flags("difference", a, b)


def compare(step: Step) -> None:
    """Run ``cmp``: set the flags of a difference."""
    _, a, b = _pair(step)
    step.state.flags = Flags("difference", a, b)


def increment(step: Step) -> None:
    """Run ``inc`` or ``dec``: add or subtract 1."""
    (target,) = step.instruction.operands
    one = 1 if step.instruction.name == "inc" else -1
    old = step.read(target)
    result = old + Value(old.bits, one)
    step.write(target, result)
    step.state.flags = Flags("sum", result, Value(result.bits))


def negate(step: Step) -> None:
    """Run ``neg``: change the sign."""
    (target,) = step.instruction.operands
    result = step.read(target).times(-1)
    step.write(target, result)
    step.state.flags = Flags("sum", result, Value(result.bits))


def invert(step: Step) -> None:
    """Run ``not``: the inverse of x is -x - 1. The flags stay."""
    (target,) = step.instruction.operands
    old = step.read(target)
    step.write(target, old.times(-1) - Value(old.bits, 1))


def times(step: Step) -> None:
    """Run ``imul`` of two or three operands; one of a single operand counts as unknown."""
    operands = step.instruction.operands
    if len(operands) == 1:
        unknown(step)
        return
    target = operands[0]
    bits = _bits(target)
    a, b = (_read_like(step, operand, bits) for operand in operands[-2:])
    result = multiply(a, b)
    step.write(target, result)
    step.state.flags = Flags("unknown", result, Value(bits))


def logic(step: Step) -> None:
    """Run ``and``, ``or`` or ``xor``."""
    target, a, b = _pair(step)
    operands = step.instruction.operands
    if step.instruction.name == "xor" and operands[0] == operands[1]:
        result = Value(a.bits)
    else:
        result = combine(step.instruction.name, a, b)
    step.write(target, result)
    step.state.flags = Flags("result", result, Value(result.bits))


def test(step: Step) -> None:
    """Run ``test``: set the flags of a logic ``and``."""
    operands = step.instruction.operands
    _, a, b = _pair(step)
    result = a if operands[0] == operands[1] else combine("and", a, b)
    step.state.flags = Flags("result", result, Value(result.bits))


def combine(name: str, a: Value, b: Value) -> Value:
    """Return the result of a logic operation: an atom if no rule simplifies it.

    The rules are tried on the whole values, then on the two halves of 64-bit values.

    Parameters
    ----------
    name : {'and', 'or', 'xor'}
        The operation.
    a, b : Value
        Operands of the same width.
    """
    if b.number is None:
        a, b = b, a
    if a.number is not None and b.number is not None:
        results = {"and": a.const & b.const, "or": a.const | b.const, "xor": a.const ^ b.const}
        return Value(a.bits, results[name])
    # A function aligns its stack pointer downwards: the distance from `FRAME` stays known.
    place = offset_from(b if b.number is None else a, FRAME)
    if name == "and" and place is not None and a.bits == 64:
        mask = a.signed if a.number is not None else b.signed
        if mask is not None and -mask in (1, 2, 4, 8, _STACK_ALIGNMENT):
            return Value(64, ((place + 8) & mask) - 8, {FRAME: 1})
    whole = _by_mask(name, a, b)
    if whole is not None:
        return whole
    if a.bits == 64:
        halves = [_by_mask(name, extract(a, s, 32), extract(b, s, 32)) for s in (0, 32)]
        known = [half for half in halves if half is not None]
        if len(known) == 2:
            return join_parts(known)
    first, second = sorted((a, b), key=hash)
    return operation(name, a.bits, first, second)


def _by_mask(name: str, a: Value, b: Value) -> Value | None:
    """Return a logic operation's result by a rule; None if no rule applies.

    A rule applies if one operand is 0 or all ones, or if both operands are equal. Further rules are
    for an ``and`` that keeps the low 8, 16 or 32 bits, and for a condition's ``xor`` with 1.
    """
    for mask, other in ((a.number, b), (b.number, a)):
        if mask == 0:
            return Value(a.bits) if name == "and" else other
        if mask == (1 << a.bits) - 1:
            inverted = other.times(-1) - Value(a.bits, 1)
            return {"and": other, "or": Value(a.bits, -1), "xor": inverted}[name]
        if mask is not None and name == "and" and not mask & (mask + 1):
            count = mask.bit_length()
            if count in (8, 16, 32):
                return zero_extend(low(other, count), a.bits)
        known = other.atom
        if name == "xor" and mask == 1 and known is not None and known.kind == "condition":
            return zero_extend(conditions.opposite(Value(8, 0, {known: 1})), a.bits)
    if name in ("or", "xor", "and") and a == b:
        return Value(a.bits) if name == "xor" else a
    return None


def shift(step: Step) -> None:
    """Run a shift; a count that is no constant below the width gives an atom."""
    operands = step.instruction.operands
    target = operands[0]
    a = step.read(target)
    count = step.read(operands[1]).number if len(operands) > 1 else 1
    name = step.instruction.name
    if count is not None:
        count &= 63 if a.bits == 64 else 31
    if count is None or count >= a.bits:
        by = step.read(operands[1])
        result = operation(name, a.bits, a, by)
    elif name in ("shl", "sal"):
        result = _shift_left(a, count)
    elif name == "shr":
        result = zero_extend(extract(a, count, a.bits - count), a.bits) if count else a
    elif count == 0 or a.number is not None:
        result = Value(a.bits, (a.signed or 0) >> count) if count else a
    else:
        result = operation(name, a.bits, a, count)
    step.write(target, result)
    step.state.flags = Flags("sum", result, Value(result.bits))


def _shift_left(a: Value, count: int) -> Value:
    if count == 32 and a.bits == 64:
        return join_parts([Value(32), low(a, 32)])
    return a.times(1 << count)


def push(step: Step) -> None:
    """Run ``push`` of eight bytes."""
    value = _read_like(step, step.instruction.operands[0], 64)
    push_value(step, value)


def push_value(step: Step, value: Value) -> None:
    """Lower ``rsp`` by 8 and store a 64-bit value there."""
    top = step.state.general["rsp"] - Value(64, 8)
    step.state.general["rsp"] = top
    step.store(top, bytes_of(value))


def pop(step: Step) -> None:
    """Run ``pop`` of eight bytes."""
    top = step.state.general["rsp"]
    value = step.load(top, 8)
    step.state.general["rsp"] = top + Value(64, 8)
    step.write(step.instruction.operands[0], value)


def leave(step: Step) -> None:
    """Run ``leave``: set ``rsp`` to ``rbp`` and pop ``rbp``."""
    base = step.state.general["rbp"]
    step.state.general["rbp"] = step.load(base, 8)
    step.state.general["rsp"] = base + Value(64, 8)


def extend_result(step: Step) -> None:
    """Sign-extend ``rax`` in place, or write the extension's upper half to ``rdx``."""
    source, target, bits = {
        "cbw": ("al", "ax", 16),
        "cwde": ("ax", "eax", 32),
        "cdqe": ("eax", "rax", 64),
        "cdq": ("eax", "edx", 32),
        "cqo": ("rax", "rdx", 64),
    }[step.instruction.name]
    value = step.register(source)
    if target.endswith("dx"):
        extended = sign_extend(value, 2 * value.bits)
        step.set_register(target, extract(extended, bits, bits))
    else:
        step.set_register(target, sign_extend(value, bits))


def exchange(step: Step) -> None:
    """Run ``xchg``: swap two operands."""
    a, b = step.instruction.operands
    first, second = step.read(a), step.read(b)
    step.write(a, second)
    step.write(b, first)


def set_condition(step: Step) -> None:
    """Run a ``set`` instruction: write a condition as a byte that is 0 or 1."""
    step.write(step.instruction.operands[0], _condition(step, "set"))


def move_condition(step: Step) -> None:
    """Run a ``cmov`` instruction: copy the source if a condition holds."""
    target, source = step.instruction.operands
    condition = _condition(step, "cmov")
    old, new = step.read(target), step.read(source)
    if condition.number is None:
        value = new if old == new else operation("select", new.bits, condition, new, old)
    else:
        value = new if condition.number else old
    step.write(target, value)


def _condition(step: Step, prefix: str) -> Value:
    suffix = step.instruction.name.removeprefix(prefix)
    known = conditions.of_flags(suffix, step.state.flags)
    return unknown_flags(step) if known is None else known


def unknown_flags(step: Step) -> Value:
    """Return an unknown condition that depends on the operands of the flags."""
    flags = step.state.flags
    return step.unknown("flags", 8, *([flags.a, flags.b] if flags else []))


def unknown(step: Step) -> None:
    """Give each target of an instruction an unknown value that depends on all that it reads."""
    inputs = _inputs(step)
    for name in step.instruction.written:
        step.set_register(name, step.unknown(name, _width(name), *inputs))
        vector = _vector(name)
        if vector in step.state.vector:
            halves = [step.unknown(f"{vector}.{half}", 64, *inputs) for half in (0, 1)]
            step.state.vector[vector] = [b for half in halves for b in bytes_of(half)]
    for operand in step.instruction.operands:
        if operand.kind == "memory" and operand.is_written:
            _store_unknown(step, operand, inputs)
    if step.instruction.name in _SYSTEM:
        step.note(EventKind.CALL, detail=f"the instruction {step.instruction.name}")
        step.state.forget_frame(("unknown", step.site))
    made = step.unknown("flags", 64, *inputs)
    step.state.flags = Flags("unknown", made, Value(64))


def _store_unknown(step: Step, operand: Operand, inputs: list[Value]) -> None:
    where = step.address(operand)
    if not operand.size or operand.size > _LARGEST_STORE:
        step.note(EventKind.MEMORY, detail=f"a store of {step.instruction.name}")
        step.state.forget_frame(("unknown", step.site))
        return
    names = [f"byte {number}" for number in range(operand.size)]
    step.store(where, [b for name in names for b in bytes_of(step.unknown(name, 8, *inputs))])


def _inputs(step: Step) -> list[Value]:
    """Return all values that an instruction reads: registers, memory and flags."""
    names = step.instruction.used
    inputs = [step.register(name) for name in names if name in PARTS and name != "rsp"]
    for name in names:
        data = step.state.vector.get(_vector(name))
        inputs += [join_bytes(data)] if data else []
    for operand in step.instruction.operands:
        if operand.kind == "memory" and 0 < operand.size <= _LARGEST_STORE:
            inputs.append(step.load(step.address(operand), operand.size))
    flags = step.state.flags
    return inputs + ([flags.a, flags.b] if flags else [])


def _vector(name: str) -> str:
    return name if name == X87 else "x" + name[1:]


def _width(name: str) -> int:
    return PARTS[name].bits if name in PARTS else 64


def nothing(step: Step) -> None:
    """Run an instruction that changes neither registers nor memory, such as ``nop``."""


#: By mnemonic: the function that applies the instruction to a step.
STEPS: Final[dict[str, Callable[[Step], None]]] = {
    "mov": move,
    "movabs": move,
    "movzx": move_zero,
    "movsx": move_sign,
    "movsxd": move_sign,
    "lea": address,
    "add": add,
    "sub": subtract,
    "cmp": compare,
    "inc": increment,
    "dec": increment,
    "neg": negate,
    "not": invert,
    "imul": times,
    "and": logic,
    "or": logic,
    "xor": logic,
    "test": test,
    "shl": shift,
    "sal": shift,
    "shr": shift,
    "sar": shift,
    "push": push,
    "pop": pop,
    "leave": leave,
    "cbw": extend_result,
    "cwde": extend_result,
    "cdqe": extend_result,
    "cdq": extend_result,
    "cqo": extend_result,
    "xchg": exchange,
    "nop": nothing,
    "endbr64": nothing,
    "pause": nothing,
    "data16": nothing,
}
