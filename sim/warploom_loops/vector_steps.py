"""Symbolic effects of vector and floating-point instructions.

Moves are followed byte by byte. The results of arithmetic are atoms.
"""

from collections.abc import Callable, Sequence
from typing import Final

from warploom_loops.instructions import Operand
from warploom_loops.integer_steps import STEPS as INTEGER_STEPS
from warploom_loops.integer_steps import move_condition, set_condition, unknown
from warploom_loops.machine_state import Byte, Flags, bytes_of, join_bytes
from warploom_loops.registers import VECTOR
from warploom_loops.step import Step
from warploom_loops.values import Value, operation

_SIZE: Final = 16
#: Longest copy by a string instruction, in bytes, that is followed.
_LONGEST_COPY: Final = 4096


def is_vector(operand: Operand) -> bool:
    """Return whether an operand is a vector register."""
    return operand.kind == "register" and operand.register in VECTOR


def read(step: Step, operand: Operand, size: int) -> list[Byte]:
    """Return the ``size`` lowest bytes of an operand."""
    if is_vector(operand):
        return step.state.vector[operand.register][:size]
    if operand.kind == "memory":
        return step.load_bytes(step.address(operand), size)
    return bytes_of(step.read(operand))[:size]


def zeros(size: int) -> list[Byte]:
    """Return ``size`` bytes that are 0."""
    return bytes_of(Value(8 * size)) if size else []


def write(step: Step, operand: Operand, data: Sequence[Byte], *, clear: bool = True) -> None:
    """Write an operand's low bytes; ``clear`` sets a vector register's bytes above them to 0."""
    if is_vector(operand):
        register = step.state.vector[operand.register]
        rest = zeros(_SIZE - len(data)) if clear else register[len(data) :]
        step.state.vector[operand.register] = [*data, *rest]
    elif operand.kind == "memory":
        step.store(step.address(operand), data)
    else:
        step.write(operand, join_bytes(data))


def move_whole(step: Step) -> None:
    """Copy sixteen bytes."""
    target, source = step.instruction.operands
    write(step, target, read(step, source, _SIZE))


def move_scalar(step: Step) -> None:
    """Copy a float. A copy from memory clears the target's other bytes; else they stay."""
    target, source = step.instruction.operands
    size = 4 if step.instruction.name == "movss" else 8
    write(step, target, read(step, source, size), clear=not is_vector(source))


def move_word(step: Step) -> None:
    """Copy 4 or 8 bytes between a vector and a general register or memory."""
    target, source = step.instruction.operands
    size = 4 if step.instruction.name == "movd" else 8
    write(step, target, read(step, source, size))


def move_half(step: Step) -> None:
    """Copy 8 bytes to or from one half of a vector register."""
    target, source = step.instruction.operands
    place = 8 if step.instruction.name in ("movhps", "movhpd") else 0
    if is_vector(target):
        data = read(step, source, 8)
        step.state.vector[target.register][place : place + 8] = data
    else:
        step.store(step.address(target), step.state.vector[source.register][place : place + 8])


def move_across(step: Step) -> None:
    """Copy a half of one vector register to the other half of another."""
    target, source = (operand.register for operand in step.instruction.operands)
    old, new = step.state.vector[target], step.state.vector[source]
    if step.instruction.name == "movlhps":
        step.state.vector[target] = [*old[:8], *new[:8]]
    else:
        step.state.vector[target] = [*new[8:], *old[8:]]


_UNIT: Final = {"bw": 1, "wd": 2, "dq": 4, "qdq": 8, "ps": 4, "pd": 8}


def interleave(step: Step) -> None:
    """Interleave units of two operands, taken from their low or high halves."""
    name = step.instruction.name
    stem = next(s for s in ("punpckl", "punpckh", "unpckl", "unpckh") if name.startswith(s))
    unit, begin = _UNIT[name.removeprefix(stem)], 8 if stem.endswith("h") else 0
    target, source = step.instruction.operands
    a, b = read(step, target, _SIZE), read(step, source, _SIZE)
    result: list[Byte] = []
    for place in range(begin, begin + 8, unit):
        result += a[place : place + unit] + b[place : place + unit]
    write(step, target, result)


def shuffle(step: Step) -> None:
    """Choose units of 4 or 8 bytes by the constant operand."""
    target, source, order = step.instruction.operands
    name = step.instruction.name
    a = read(step, target, _SIZE) if name != "pshufd" else read(step, source, _SIZE)
    b = read(step, source, _SIZE)
    unit = 8 if name == "shufpd" else 4
    count, bits = _SIZE // unit, unit.bit_length() - 2
    bits = 1 if unit == 8 else 2
    result: list[Byte] = []
    for index in range(count):
        chosen = order.number >> (bits * index) & ((1 << bits) - 1)
        data = a if index < count // 2 or name == "pshufd" else b
        result += data[unit * chosen : unit * (chosen + 1)]
    write(step, target, result)


def exclusive_or(step: Step) -> None:
    """Clear the target if both operands are one register; else write an atom."""
    target, source = step.instruction.operands[:2]
    if target == source:
        write(step, target, zeros(_SIZE))
    else:
        arithmetic(step)


def arithmetic(step: Step) -> None:
    """Write an atom that is named by the operation and its operands."""
    name = step.instruction.name
    target, *sources = step.instruction.operands
    size = next((n for ending, n in (("ss", 4), ("sd", 8)) if name.endswith(ending)), _SIZE)
    if not is_vector(target):
        size = target.size
    inputs: list[Value | int] = []
    for operand in ([target] if is_vector(target) else []) + sources:
        if operand.kind == "number":
            inputs.append(operand.number)
        else:
            width = min(operand.size, _SIZE) if operand.kind == "memory" else size
            inputs.append(join_bytes(read(step, operand, width or size)))
    parts = [operation(name, 64, *inputs, n) for n in range(0, size, 8)]
    data = [byte for part in parts for byte in bytes_of(part)][:size]
    write(step, target, data, clear=False)


def convert(step: Step) -> None:
    """Convert between integers and floats: write an atom that depends on the source only."""
    name = step.instruction.name
    target, source = step.instruction.operands
    size = target.size if not is_vector(target) else 4 if name.endswith("ss") else 8
    width = {"cvttss": 4, "cvtss2": 4}.get(name[:6], 8)
    data = join_bytes(read(step, source, source.size if not is_vector(source) else width))
    result = operation(name, 8 * size, data)
    write(step, target, bytes_of(result), clear=False)


def compare(step: Step) -> None:
    """Set the flags of a comparison of floats."""
    a, b = step.instruction.operands
    size = 4 if step.instruction.name.endswith("ss") else 8
    values = [join_bytes(read(step, operand, size)) for operand in (a, b)]
    step.state.flags = Flags("float", values[0], values[1])


def repeat(step: Step) -> None:
    """Fill or copy memory by a string instruction with a constant count."""
    name = step.instruction.name.removeprefix("rep ")
    unit = {"b": 1, "w": 2, "d": 4, "q": 8}[name[-1]]
    state = step.state
    count = state.general["rcx"].number if "rep " in step.instruction.name else 1
    if count is None or count * unit > _LONGEST_COPY:
        unknown(step)
        step.store(step.unknown("anywhere", 64), zeros(1))
        return
    size = count * unit
    target = state.general["rdi"]
    if name.startswith("movs"):
        data = step.load_bytes(state.general["rsi"], size) if size else []
        state.general["rsi"] += Value(64, size)
    else:
        data = bytes_of(step.register({1: "al", 2: "ax", 4: "eax", 8: "rax"}[unit])) * count
    if size:
        step.store(target, data)
    state.general["rdi"] = target + Value(64, size)
    if "rep " in step.instruction.name:
        state.general["rcx"] = Value(64)


def _names(text: str) -> list[str]:
    return text.split()


_VECTOR_STEPS: Final[dict[str, Callable[[Step], None]]] = {
    **dict.fromkeys(
        _names("movaps movups movapd movupd movdqa movdqu lddqu movntdq movntps"), move_whole
    ),
    "movss": move_scalar,
    "movsd": move_scalar,
    "movd": move_word,
    "movq": move_word,
    **dict.fromkeys(_names("movlps movlpd movhps movhpd"), move_half),
    **dict.fromkeys(_names("movlhps movhlps"), move_across),
    **dict.fromkeys(
        _names(
            """punpcklbw punpcklwd punpckldq punpcklqdq punpckhbw punpckhwd punpckhdq punpckhqdq
            unpcklps unpcklpd unpckhps unpckhpd"""
        ),
        interleave,
    ),
    **dict.fromkeys(_names("pshufd shufps shufpd"), shuffle),
    **dict.fromkeys(_names("pxor xorps xorpd"), exclusive_or),
    **dict.fromkeys(
        _names(
            """addss subss mulss divss minss maxss addsd subsd mulsd divsd minsd maxsd
            addps subps mulps divps addpd subpd mulpd divpd andps andpd andnps orps orpd pand por
            paddd psubd paddq psubq pmuludq pmulld psrldq pslldq psrlq psllq psrld pslld"""
        ),
        arithmetic,
    ),
    **dict.fromkeys(
        _names("""cvtsi2ss cvtsi2sd cvtss2sd cvtsd2ss cvttss2si cvttsd2si cvtss2si cvtsd2si"""),
        convert,
    ),
    **dict.fromkeys(_names("comiss ucomiss comisd ucomisd"), compare),
}
_STRINGS: Final = tuple(
    f"{prefix}{name}{unit}"
    for prefix in ("", "rep ")
    for name in ("stos", "movs")
    for unit in "bwdq"
)


def run(step: Step) -> None:
    """Run any instruction that neither branches nor calls."""
    name = step.instruction.name
    vector = any(is_vector(operand) for operand in step.instruction.operands)
    if name in _STRINGS and not vector:
        repeat(step)
    elif name in _VECTOR_STEPS and vector:
        _VECTOR_STEPS[name](step)
    elif name in INTEGER_STEPS and not vector:
        INTEGER_STEPS[name](step)
    elif name.startswith("set") and len(step.instruction.operands) == 1:
        set_condition(step)
    elif name.startswith("cmov"):
        move_condition(step)
    else:
        unknown(step)
