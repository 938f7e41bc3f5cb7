"""What integer instructions do."""

from collections.abc import Callable
from typing import Final

from warploom_golden.deferral import conditions
from warploom_golden.deferral.events import EventKind
from warploom_golden.deferral.instructions import Operand
from warploom_golden.deferral.machine_state import Flags, bytes_of, join_bytes
from warploom_golden.deferral.registers import PARTS, X87
from warploom_golden.deferral.step import Step
from warploom_golden.deferral.values import (
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

#: The stack pointer at a function's entry is 8 above a multiple of this.
_STACK_ALIGNMENT: Final = 16
#: The largest store of an unknown instruction that is followed, in bytes.
_LARGEST_STORE: Final = 64
#: Instructions that hand over to the operating system, or store where no operand says.
_SYSTEM: Final = frozenset(
    {"syscall", "sysenter", "int", "maskmovdqu", "maskmovq", "xsave", "fxsave"}
)


def _bits(operand: Operand) -> int:
    return 8 * operand.size


def _read_like(step: Step, operand: Operand, bits: int) -> Value:
    """Read an operand in a width; a shorter number was sign-extended by the decoder."""
    if operand.kind == "number":
        return Value(bits, operand.number)
    return low(step.read(operand), bits)


def _pair(step: Step) -> tuple[Operand, Value, Value]:
    target, source = step.instruction.operands
    return target, step.read(target), _read_like(step, source, _bits(target))


def move(step: Step) -> None:
    """Copy."""
    target, source = step.instruction.operands
    step.write(target, _read_like(step, source, _bits(target)))


def move_zero(step: Step) -> None:
    """Copy into more bits, the new ones 0."""
    target, source = step.instruction.operands
    step.write(target, zero_extend(step.read(source), _bits(target)))


def move_sign(step: Step) -> None:
    """Copy into more bits, the new ones the sign."""
    target, source = step.instruction.operands
    step.write(target, sign_extend(step.read(source), _bits(target)))


def address(step: Step) -> None:
    """Compute an address, or any sum."""
    target, source = step.instruction.operands
    step.write(target, low(step.address(source), _bits(target)))


def add(step: Step) -> None:
    """Add."""
    target, a, b = _pair(step)
    result = a + b
    step.write(target, result)
    step.state.flags = Flags("sum", result, Value(result.bits))


def subtract(step: Step) -> None:
    """Subtract."""
    target, a, b = _pair(step)
    step.write(target, a - b)
    step.state.flags = Flags("difference", a, b)


def compare(step: Step) -> None:
    """Set the flags of a difference."""
    _, a, b = _pair(step)
    step.state.flags = Flags("difference", a, b)


def increment(step: Step) -> None:
    """Add or subtract one."""
    (target,) = step.instruction.operands
    one = 1 if step.instruction.name == "inc" else -1
    old = step.read(target)
    result = old + Value(old.bits, one)
    step.write(target, result)
    step.state.flags = Flags("sum", result, Value(result.bits))


def negate(step: Step) -> None:
    """Change the sign."""
    (target,) = step.instruction.operands
    result = step.read(target).times(-1)
    step.write(target, result)
    step.state.flags = Flags("sum", result, Value(result.bits))


def invert(step: Step) -> None:
    """Invert every bit: -x - 1."""
    (target,) = step.instruction.operands
    old = step.read(target)
    step.write(target, old.times(-1) - Value(old.bits, 1))


def times(step: Step) -> None:
    """Multiply, two or three operands; with one, the result is not looked into."""
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
    """And, or, exclusive or."""
    target, a, b = _pair(step)
    operands = step.instruction.operands
    if step.instruction.name == "xor" and operands[0] == operands[1]:
        result = Value(a.bits)
    else:
        result = combine(step.instruction.name, a, b)
    step.write(target, result)
    step.state.flags = Flags("result", result, Value(result.bits))


def test(step: Step) -> None:
    """Set the flags of a logic and."""
    operands = step.instruction.operands
    _, a, b = _pair(step)
    result = a if operands[0] == operands[1] else combine("and", a, b)
    step.state.flags = Flags("result", result, Value(result.bits))


def combine(name: str, a: Value, b: Value) -> Value:
    """Return a logic operation's result, half by half where one half is a plain constant."""
    if b.number is None:
        a, b = b, a
    if a.number is not None and b.number is not None:
        results = {"and": a.const & b.const, "or": a.const | b.const, "xor": a.const ^ b.const}
        return Value(a.bits, results[name])
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
    """Return the result where one operand is 0, all ones or, of `and`, some low ones."""
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
    """Shift by a constant; by anything else the result is an atom."""
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
    """Push eight bytes."""
    value = _read_like(step, step.instruction.operands[0], 64)
    push_value(step, value)


def push_value(step: Step, value: Value) -> None:
    """Write a value below the stack's top."""
    top = step.state.general["rsp"] - Value(64, 8)
    step.state.general["rsp"] = top
    step.store(top, bytes_of(value))


def pop(step: Step) -> None:
    """Pop eight bytes."""
    top = step.state.general["rsp"]
    value = step.load(top, 8)
    step.state.general["rsp"] = top + Value(64, 8)
    step.write(step.instruction.operands[0], value)


def leave(step: Step) -> None:
    """Give up a frame."""
    base = step.state.general["rbp"]
    step.state.general["rbp"] = step.load(base, 8)
    step.state.general["rsp"] = base + Value(64, 8)


def extend_result(step: Step) -> None:
    """Sign-extend rax in place, or into rdx."""
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
    """Let two operands change places."""
    a, b = step.instruction.operands
    first, second = step.read(a), step.read(b)
    step.write(a, second)
    step.write(b, first)


def set_condition(step: Step) -> None:
    """Write a condition as a byte."""
    step.write(step.instruction.operands[0], _condition(step, "set"))


def move_condition(step: Step) -> None:
    """Copy if a condition holds."""
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
    """Return a condition that is not looked into, with what it comes from."""
    flags = step.state.flags
    return step.unknown("flags", 8, *([flags.a, flags.b] if flags else []))


def unknown(step: Step) -> None:
    """Take it that every target holds something new, which comes from all that is read."""
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
    """Return all that an instruction reads: registers, memory, flags."""
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
    """Do nothing."""


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
