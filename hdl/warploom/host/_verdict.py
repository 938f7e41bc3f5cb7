"""What becomes of the command of a section whose doorbell was rung."""

from functools import reduce
from operator import or_
from typing import Any, Final, assert_never

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import before
from warploom_spec import Config, host_packets, queue_packets
from warploom_spec.host_commands import (
    FLAG_SKIP_PRIMARY,
    LAUNCH_COMMANDS,
    RESERVED_FIELD,
    STREAM_COMMANDS,
    TASK_WORDS,
    UNIT_COMMANDS,
    WAIT_WORDS,
    Opcode,
    known_commands,
    launch_words,
    loop_words,
    mask_words,
    run_words,
)
from warploom_spec.host_errors import HostError
from warploom_spec.queue_packets import FIRST_WAIT_WORD, QueueOpcode

_MASK_WORD: Final = 1
_SLOT_WORD: Final = 2
#: What each command for streams is to the launch path.
_QUEUE_OPCODES: Final = {
    Opcode.PREEMPT: QueueOpcode.PREEMPT,
    Opcode.RESUME: QueueOpcode.RESUME,
    Opcode.ABORT_STREAMS: QueueOpcode.ABORT_STREAMS,
}


class Verdict(wiring.Component):
    """Judge the command of one section a cycle.

    The task is read a cycle before its section is judged. All that follows from the task alone
    stands in registers in the cycle of the judgement.

    Parameters
    ----------
    config : Config
        ``sections``, ``units``, ``cores_per_unit``, widths of a launch.
    launches : bool
        Whether there is a launch path; without one its commands are unknown.
    """

    task: Signal
    section: Signal
    serving: Signal
    missing: Signal
    unit_reset: Signal
    disconnected: Signal
    code: Signal
    argument: Signal
    finishes: Signal
    runs: Signal
    parts: Signal
    launches: Signal
    aborts: Signal
    commands: Signal
    opcode: Signal

    def __init__(self, config: Config, *, launches: bool) -> None:
        self._config, self._has_launches = config, launches
        self._has_loops = launches and config.has_loops
        super().__init__(
            {
                # The task of a section that may be judged in the next cycle.
                "task": In(32 * TASK_WORDS),
                "section": In(max(1, (config.sections - 1).bit_length())),
                # The section that is judged in this cycle, one-hot; 0 if none is.
                "serving": In(config.sections),
                # A core of the unit is missing; the unit is reset.
                "missing": In(config.units),
                "unit_reset": In(config.units),
                # The unit's section runs no commands.
                "disconnected": Out(config.units),
                # The command completes at once, with a code and its argument.
                "finishes": Out(1),
                "code": Out(host_packets.HOST_CODE_BITS),
                "argument": Out(host_packets.FAILURE_BITS),
                # The task goes to its unit in the next cycle, with so many parts.
                "runs": Out(1),
                "parts": Out(host_packets.PARTS_BITS),
                # A launch or an abort is to be sent, if a section is judged.
                "launches": Out(1),
                "aborts": Out(1),
                # A command for streams is to be sent, if a section is judged: a `QueueOpcode`.
                "commands": Out(1),
                "opcode": Out(2),
                # A LOOP begins, if a section is judged.
                **({"loops": Out(1)} if self._has_loops else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        run: Any = data.View(run_words(config).layout(), self.task)
        unit_selected = self.serving[: config.units]
        is_opcode = {
            opcode: before(m, f"is_{opcode.name.lower()}", run.opcode == int(opcode))
            for opcode in known_commands(config)
        }
        too_many, any_part = self._count_parts(m, run)
        is_run = is_opcode[Opcode.RUN]
        to_launch_path: Value = C(0, 1)
        too_large: Value = C(0, 1)
        argument: Value = C(0, 1)
        if self._has_launches:
            to_launch_path = reduce(
                or_, (hit for opcode, hit in is_opcode.items() if opcode in LAUNCH_COMMANDS)
            )
            wrong_field, argument = self._too_large(m)
            is_command = Cat(is_opcode[opcode] for opcode in STREAM_COMMANDS).any()
            out_of_range = is_command & self._wrong_mask(m)
            too_large = (is_opcode[Opcode.LAUNCH] & wrong_field) | out_of_range
            argument = Mux(is_command, _MASK_WORD, argument)
            if self._has_loops:
                is_loop = is_opcode[Opcode.LOOP]
                no_loop = is_loop & ~self.serving[config.first_loop_section :].any()
                too_large = too_large | (is_loop & self._wrong_slots(m))
                argument = Mux(is_loop, _SLOT_WORD, argument)
        here = (hit for opcode, hit in is_opcode.items() if opcode not in LAUNCH_COMMANDS)
        known = reduce(or_, here) | to_launch_path
        needs_unit = reduce(or_, (is_opcode[opcode] for opcode in UNIT_COMMANDS))
        # As it is in the cycle of the judgement: no command of this section is judged now.
        stays = self.disconnected & ~self.unit_reset
        disconnected = before(
            m,
            "is_disconnected",
            Cat(stays[k] & (self.section == k) for k in range(config.units)).any(),
        )

        def own(opcode: Opcode) -> tuple[tuple[Value, HostError], ...]:
            """Return what refuses this command beside what refuses any."""
            match opcode:
                case Opcode.NOP | Opcode.ABORT | Opcode.DISCONNECT:
                    return ()
                case Opcode.RUN:
                    return (
                        (is_run & (unit_selected & self.missing).any(), HostError.CORE_MISSING),
                        (is_run & too_many, HostError.BAD_SPLIT),
                    )
                case Opcode.LAUNCH:
                    return ((too_large, HostError.FIELD_RANGE),)
                case Opcode.PREEMPT | Opcode.RESUME | Opcode.ABORT_STREAMS | Opcode.LOOP:
                    # `too_large` says it of their masks and slots, too.
                    return ()
                case _:
                    assert_never(opcode)

        refusals: tuple[tuple[Value, HostError], ...] = (
            (disconnected, HostError.DISCONNECTED),
            (~known, HostError.BAD_OPCODE),
            (needs_unit & ~unit_selected.any(), HostError.NO_UNIT),
            *(((no_loop, HostError.NO_LOOP),) if self._has_loops else ()),
            *(refusal for opcode in is_opcode for refusal in own(opcode)),
        )
        refused = Signal()
        code: Value = C(0, host_packets.HOST_CODE_BITS)
        for applies, name in reversed(refusals):
            code = Mux(applies, int(name), code)
        # Only the refusals that can meet a launch, an abort or a command for streams.
        sends = ~disconnected & ~too_large
        explains = too_large & ~disconnected
        if self._has_loops:
            explains = explains & ~no_loop
        m.d.comb += [
            refused.eq(Cat(applies for applies, _ in refusals).any()),
            self.code.eq(code),
            self.argument.eq(Mux(explains, argument, 0)),
            self.runs.eq(is_run & ~refused & any_part),
            self.finishes.eq(~self.runs & (refused | ~to_launch_path)),
            self.launches.eq(sends & is_opcode[Opcode.LAUNCH]),
            self.aborts.eq(sends & is_opcode[Opcode.ABORT]),
        ]
        if self._has_launches:
            m.d.comb += self.commands.eq(sends & is_command)
        if self._has_loops:
            ports: Any = self
            m.d.comb += ports.loops.eq(sends & is_loop & ~no_loop)
        for opcode, number in _QUEUE_OPCODES.items():
            with m.If(is_opcode[opcode]):
                m.d.comb += self.opcode.eq(int(number))
        disconnects = is_opcode[Opcode.DISCONNECT] & ~refused
        m.d.sync += self.disconnected.eq(
            (self.disconnected | (unit_selected & disconnects.replicate(config.units)))
            & ~self.unit_reset
        )
        return m

    def _wrong_mask(self, m: Module) -> Signal:
        """Return whether a mask names no stream, or one that does not exist."""
        words: Any = data.View(mask_words(self._config).layout(), self.task)
        above = words.mask[1 << self._config.stream_bits :]
        return before(m, "wrong_mask", ~words.mask.any() | (above.any() if len(above) else 0))

    def _wrong_slots(self, m: Module) -> Signal:
        """Return whether a slot of a LOOP does not exist."""
        words: Any = data.View(loop_words(self._config).layout(), self.task)
        bits = self._config.template_bits
        above = Cat(words.first_slot[bits:], words.last_slot[bits:])
        return before(m, "wrong_slot", above.any())

    def _wrong_waits(self, launch: Any) -> dict[int, Value]:
        """Return for each word of a pair whether the pair counts, and cannot be waited for."""
        found: dict[int, Value] = {}
        for k in range(WAIT_WORDS):
            above = launch[f"wait{k}_stream"][self._config.stream_bits :]
            wrong = above.any() if k < self._config.launch_waits else C(1, 1)
            found[FIRST_WAIT_WORD + k] = launch.flags[k] & wrong
        return found

    def _count_parts(self, m: Module, run: Any) -> tuple[Signal, Signal]:
        """Count the parts of a RUN; return whether they are too many, and whether there are any.

        The parts are min(parts, larger) if small is 0. Whether there are too many, or none, is
        asked of both at once: no comparison waits for the minimum.
        """
        cores = self._config.cores_per_unit
        skip_primary = run.flags[0] & FLAG_SKIP_PRIMARY
        only_larger = ~run.small.any()
        many = [Mux(skip_primary, n >= cores, n > cores) for n in (run.parts, run.larger)]
        fewer = only_larger & (run.larger < run.parts)
        parts, larger = (before(m, f"{name}_judged", run[name]) for name in ("parts", "larger"))
        m.d.comb += self.parts.eq(Mux(before(m, "fewer", fewer), larger, parts))
        return (
            before(m, "too_many", many[0] & (~only_larger | many[1])),
            before(m, "any_part", run.parts.any() & (~only_larger | run.larger.any())),
        )

    def _too_large(self, m: Module) -> tuple[Signal, Signal]:
        """Return whether a launch's value is too large for its field, and the field's word."""
        words = launch_words(self._config)
        launch: Any = data.View(words.layout(), self.task)
        too_large: Value = C(0, 1)
        chosen: Value = C(0, host_packets.FAILURE_BITS)
        for word, wrong in sorted(self._wrong_waits(launch).items(), reverse=True):
            chosen = Mux(wrong, word, chosen)
            too_large = too_large | wrong
        # A field without bits holds 0 alone. A pair's words are behind these.
        fields = queue_packets.queued_launch(self._config).fields
        widths = {field.name: field.bits for field in fields if not field.name.startswith("wait")}
        # The mailbox gives a launch its loop; `quiet` stands in place of what is reserved.
        if widths.pop("loop", None) is None:
            widths[RESERVED_FIELD] = 0
        for name in sorted(widths, key=lambda name: -words.by_name[name].word):
            above = launch[name][widths[name] :]
            if len(above):
                chosen = Mux(above.any(), words.by_name[name].word, chosen)
                too_large = too_large | above.any()
        return before(m, "too_large", too_large), before(m, "first_too_large", chosen)
