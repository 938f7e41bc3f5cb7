"""The machine as one instruction sees it: operands, memory and unknown values."""

from collections.abc import Callable, Sequence
from typing import Final

from warploom_loops import call_table
from warploom_loops.elf_image import ElfImage
from warploom_loops.events import Event, EventKind, Site
from warploom_loops.instructions import Instruction, Operand
from warploom_loops.machine_state import Byte, State, bytes_of, is_origin, join_bytes
from warploom_loops.registers import PARTS
from warploom_loops.values import (
    FRAME,
    IMAGE,
    Atom,
    Value,
    atoms_within,
    extract,
    join_parts,
    of,
    offset_from,
    operation,
    zero_extend,
)

#: Offset of the stack protector's canary in thread-local storage.
_CANARY: Final = 0x28
#: Bytes from an escaped address on that count as part of the object at that address.
_OBJECT: Final = 8


class Step:
    """The machine while one instruction runs.

    Parameters
    ----------
    image : ElfImage
        The program.
    state : State
        Registers, frame and flags; the step changes them in place.
    instruction : Instruction
        The instruction that runs.
    site : tuple of int
        Site of the instruction.
    note : callable
        Called with each event.
    """

    def __init__(
        self,
        image: ElfImage,
        state: State,
        instruction: Instruction,
        site: Site,
        note: Callable[[Event], None],
    ):
        self.image, self.state, self.instruction = image, state, instruction
        self.site, self._note = site, note

    def note(self, kind: EventKind, value: Value | None = None, detail: str = "") -> None:
        """Note an event at the instruction's site."""
        self._note(Event(kind, self.site, value, detail))

    def unknown(self, what: str, bits: int, *inputs: Value) -> Value:
        """Return an unknown value, named by the instruction's site.

        The value may be another one each time that the instruction runs.

        Parameters
        ----------
        what : str
            Distinguishes the unknown values of one instruction.
        bits : int
            Width of the value.
        *inputs : Value
            Values that the unknown value may depend on: a use of it counts as a use of them.
        """
        return of(Atom("unknown", bits, (self.site, what, *inputs)))

    # --- registers ------------------------------------------------------------------------

    def register(self, name: str) -> Value:
        """Return what a general register holds."""
        part = PARTS.get(name)
        if part is None:
            return self.unknown(name, 64)
        value = self.state.general[part.whole]
        # A result that a call left in rax counts as used once an instruction reads rax.
        if value.atom is not None and value.atom.kind == "left":
            value = value.atom.key[0]
        return extract(value, part.shift, part.bits)

    def set_register(self, name: str, value: Value) -> None:
        """Write a general register: 32 bits clear the upper half, 8 or 16 bits keep the rest."""
        part = PARTS.get(name)
        if part is None:
            return
        if part.bits < 32:
            whole = self.state.general[part.whole]
            if whole.atom is not None and whole.atom.kind == "left":
                whole = self.unknown("the rest of rax", 64)
            parts = [value]
            if part.shift:
                parts.insert(0, extract(whole, 0, part.shift))
            end = part.shift + part.bits
            value = join_parts([*parts, extract(whole, end, 64 - end)])
        self.state.general[part.whole] = zero_extend(value, 64)

    # --- operands -------------------------------------------------------------------------

    def address(self, operand: Operand) -> Value:
        """Return the address of a memory operand."""
        base = operand.register
        if base == "rip":
            sum_ = Value(64, operand.number, {IMAGE: 1} if self._based else None)
        else:
            sum_ = Value(64, operand.number)
            if base:
                sum_ += self.register(base)
        if operand.index:
            sum_ += self.register(operand.index).times(operand.scale)
        if operand.segment in ("fs", "gs"):
            return operation("thread-local", 64, operand.segment, sum_)
        return sum_

    @property
    def _based(self) -> bool:
        return self.image.position_independent

    def read(self, operand: Operand) -> Value:
        """Return an operand's value."""
        if operand.kind == "number":
            return Value(8 * operand.size, operand.number)
        if operand.kind == "register":
            return self.register(operand.register)
        return self.load(self.address(operand), operand.size)

    def write(self, operand: Operand, value: Value) -> None:
        """Write an operand."""
        if operand.kind == "register":
            self.set_register(operand.register, value)
        else:
            self.store(self.address(operand), bytes_of(value))

    # --- memory ---------------------------------------------------------------------------

    def load(self, address: Value, size: int) -> Value:
        """Return ``size`` bytes of memory as one value; see `load_bytes`."""
        return join_bytes(self.load_bytes(address, size))

    def load_bytes(self, address: Value, size: int) -> list[Byte]:
        """Return bytes of memory.

        A `MEMORY` event is noted if other code may have changed the bytes.
        """
        place = offset_from(address, FRAME)
        if place is None:
            return bytes_of(self._load_elsewhere(address, size))
        data = self.state.load_bytes(place, size)
        if self._may_have_changed(place, size):
            self.note(EventKind.MEMORY, detail="a variable whose address went elsewhere")
        return data

    def _may_have_changed(self, place: int, size: int) -> bool:
        """Return whether other code may know these bytes of the frame."""
        escaped = self.state.escaped
        if any(start < place + size and place < start + _OBJECT for start in escaped):
            return True
        frame, rest = self.state.frame, self.state.rest
        bytes_ = [frame.get(p, rest) for p in range(place, place + size)]
        return bool(escaped) and any(is_origin(data) for data in bytes_)

    def _load_elsewhere(self, address: Value, size: int) -> Value:
        bits = 8 * size
        if address.atom is not None and address.atom.kind == "operation":
            name, *rest = address.atom.key
            if name == "thread-local" and rest[1].number == _CANARY:
                return operation("canary", bits)
        place = self.image_place(address)
        if place is not None:
            known = self._load_image(place, bits)
            if known is not None:
                return known
        elif self._based and address.terms.get(IMAGE) == 1 and self.image.is_fixed(address.const):
            return operation("table", bits, address)
        self.note(EventKind.MEMORY, detail=self._words(address))
        return self.unknown("load", bits)

    def _load_image(self, place: int, bits: int) -> Value | None:
        data = self.image.constant(place, bits // 8)
        if data is not None:
            return Value(bits, int.from_bytes(data, "little"))
        symbol = self.image.objects.get(place, "")
        if call_table.belongs_to_stub(symbol):
            if symbol.startswith("_ZGVZ"):
                # The guard of a stub's static variable counts as set, as after a first launch.
                return Value(bits, 1)
            kernel = call_table.kernel_of_handle(symbol)
            return of(Atom("kernel", bits, (kernel,))) if kernel else self.unknown("stub", bits)
        if self.image.is_fixed(place):
            return operation("relocated", bits, place)
        return None

    def store(self, address: Value, data: Sequence[Byte]) -> None:
        """Write memory.

        A `MEMORY` event is noted if other code may read the bytes.
        """
        place = offset_from(address, FRAME)
        if place is not None:
            if any(
                start < place + len(data) and place < start + _OBJECT
                for start in self.state.escaped
            ):
                self.note(EventKind.MEMORY, detail="a variable whose address went elsewhere")
            self.state.store_bytes(place, data)
            return
        where = self.image_place(address)
        if where is not None and call_table.belongs_to_stub(self.image.objects.get(where, "")):
            return
        value = join_bytes(data)
        self.note(EventKind.MEMORY, value, self._words(address))
        self.escape([value])
        if address.terms.get(FRAME) or self.state.escaped:
            self.state.forget_frame(("unknown", self.site))

    def image_place(self, address: Value) -> int | None:
        """Return an address relative to the image; None if it is not known to lie in the image."""
        place = offset_from(address, IMAGE)
        return place if place is not None or self._based else address.number

    def escape(self, values: Sequence[Value]) -> None:
        """Note that other code knows the places of the frame that ``values`` point to."""
        pointing = [v for v in values if FRAME in atoms_within([v])]
        places = [offset_from(value, FRAME) or 0 for value in pointing]
        if places:
            self.state.escaped |= frozenset(places)

    def _words(self, address: Value) -> str:
        place = self.image_place(address)
        name = self.image.objects.get(place) if place is not None else None
        return f"variable {name}" if name else "memory that may be anybody's"
