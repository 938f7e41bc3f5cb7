"""What a bench of Mailbox sees, from the page: its ports, and one section cycle by cycle."""

from typing import Any, Final

from amaranth.hdl import C, Cat, Mux, Signal, Value
from amaranth.lib import data

from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import Config
from warploom_spec.host_commands import Opcode
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import OFFSETS, SECTION_BASE, SECTION_BYTES
from warploom_spec.queue_packets import WAIT_BITS

CONFIG: Final = Config(
    sections=2,
    units=1,
    cores_per_unit=2,
    inline_args=0,
    stream_bits=1,
    priority_bits=1,
    queue_depth=1,
    launch_waits=1,
)
#: Free bits of write data: all opcodes, a flag, parts up to 15.
DATA_BITS: Final = 0b1_0000_1111
_SECTION_BITS: Final = 1
_OFFSET_BITS: Final = (SECTION_BYTES // 4 - 1).bit_length()
_FIRST: Final = SECTION_BASE // SECTION_BYTES
#: Numbers of launches, or of aborts, that are not answered.
_COUNT_BITS: Final = 3


def section_of(address: Value) -> Value:
    """Return a word address's section; of an address below the sections a high number."""
    number: Value = (address[_OFFSET_BITS:] - _FIRST)[: len(address) - _OFFSET_BITS]
    return number


def offset_of(address: Value) -> Value:
    """Return a word address's offset in its section, in words."""
    offset: Value = address[:_OFFSET_BITS]
    return offset


def word_offset(name: str) -> int:
    """Return a word's offset in its section, in words."""
    return OFFSETS[name] // 4


def held_packet(b: FormalBench, packet: Any, name: str) -> Any:
    """Return a packet as it was in the cycle before."""
    held = b.before(Value.cast(packet), name)
    view: Any = data.View(packet.shape(), held)
    return view


class Doorbells:
    """Which section is judged in this cycle, and what it does: all sections, from the ports alone.

    Parameters
    ----------
    b : FormalBench
        The bench.
    dut : Mailbox
        The block, made for `CONFIG`.
    write : bus_write
        The hosts' write.
    """

    def __init__(self, b: FormalBench, dut: Any, write: Any) -> None:
        self._b, self.dut = b, dut
        #: The write that commits in this cycle.
        self.write = write = held_packet(b, write, "committing")
        active = dut.soft_reset_active
        #: Accesses are refused; commands end with `RESET`.
        self.shut = b.value(b.before(active, "active"), "shut")
        ends = self.shut & b.past(active, 2, "active_twice") & b.past(active, 3, "active_thrice")
        self.closed = b.value(ends, "closed")
        performed = write.valid & ~dut.write_refused
        section, offset = section_of(write.address), offset_of(write.address)
        sections = range(CONFIG.sections)
        #: The host writes into section k; its doorbell becomes 1.
        self.writes = [b.value(performed & (section == k), f"writes_{k}") for k in sections]
        is_doorbell = (offset == word_offset("DOORBELL")) & write.strobes.any() & (write.data != 0)
        self.rings = [b.value(w & is_doorbell, f"rings_{k}") for k, w in enumerate(self.writes)]
        #: The command of section k is judged (state).
        self.judge = [b.before(ring, f"judge_{k}") for k, ring in enumerate(self.rings)]
        opcodes = [self._task_byte(k, "T0") for k in sections]
        self.launches = b.value(dut.launch_valid, "launches")
        gone = [dut.disconnected[0], *(0 for _ in sections[1:])]
        #: Section k's abort is sent.
        self.aborts = [
            b.value(
                judge & (opcode == int(Opcode.ABORT)) & ~Value.cast(out)[0],
                f"aborts_{k}",
            )
            for k, (judge, opcode, out) in enumerate(zip(self.judge, opcodes, gone, strict=True))
        ]
        any_abort = Cat(self.aborts).any()
        answers = {"launch": dut.launch_answer.valid, "abort": dut.abort_answer.valid}
        sent = {"launch": self.launches, "abort": any_abort}
        #: Launches and aborts that were sent and not answered (state).
        self.unanswered = [self._count(sent[name], answers[name], name) for name in answers]
        #: A launch, an abort was answered in the cycle before: its section completes in this one.
        self.heard = [b.before(answers[name], f"heard_{name}") for name in answers]
        #: Those that are not answered, or were answered in the cycle before (state).
        self.unheard = [
            self._count(sent[name], heard, f"heard_{name}")
            for name, heard in zip(answers, self.heard, strict=True)
        ]
        #: Section k's command for streams is at `command`; it was judged in the cycle before.
        self.commands = [
            b.value(b.before(judge, f"judged_{k}") & dut.command.valid, f"commands_{k}")
            for k, judge in enumerate(self.judge)
        ]

    def _task_byte(self, k: int, name: str) -> Any:
        """Follow the lowest byte of a word of a task register; a reset leaves it."""
        byte = self._b.register(8, f"{name}_{k}", keeps=True)
        here = offset_of(self.write.address) == word_offset(name)
        with self._b.m.If(self.writes[k] & here & self.write.strobes[0]):
            self._b.m.d.sync += byte.eq(self.write.data[:8])
        return byte

    def _count(self, more: Value, less: Value, name: str) -> Any:
        count = self._b.register(_COUNT_BITS, f"unanswered_{name}")
        self._b.m.d.sync += count.eq(count + more - less)
        return count


class OneSection:
    """One section as the page has it, cycle by cycle: its doorbell, and when it completes.

    Parameters
    ----------
    bells : Doorbells
        Of all sections.
    b : FormalBench
        The bench.
    """

    def __init__(self, b: FormalBench, bells: Doorbells) -> None:
        self._b, self._bells, dut = b, bells, bells.dut
        self.number = b.constant(_SECTION_BITS, "section")
        self.has_unit = b.value(self.number == 0, "has_unit")
        self.rings = self._of_section(bells.rings)
        self.judge = self._of_section(bells.judge)
        opens = ~bells.closed
        launches = b.value(self.judge & bells.launches, "its_launch")
        aborts = self._of_section(bells.aborts)
        kept = b.register(1, "kept_running")
        #: Its unit gets its task.
        self.begins = b.value(self.judge & dut.run[0].valid & self.has_unit, "begins")
        self.running = b.value(kept | self.begins, "running")
        #: Its launch, its abort waits for its answer; it is answered.
        self.launched = self._wait(launches, bells.heard[0], bells.unheard[0], "launch")
        self.aborted = self._wait(aborts, bells.heard[1], bells.unheard[1], "abort")
        self.ends = b.value(self.running & dut.done[0].valid & opens, "ends")
        self.interrupted = b.value(self.running & ~opens, "interrupted")
        b.m.d.sync += kept.eq(self.running & ~self.ends & opens)
        # Its command for streams is answered in the next cycle, which counts a cycle later.
        commands = self._of_section(bells.commands)
        #: Its command waits for its answer (state); it is answered.
        completes = b.past(commands, 2, "commands")
        self.commanded = (
            b.value(b.before(commands, "waits_command") | completes, "waits"),
            completes,
        )
        waits = self.launched[0] | self.aborted[0] | self.commanded[0]
        #: The doorbell (state).
        self.doorbell = b.value(self.judge | self.running | waits | commands, "doorbell")
        #: It was judged in the cycle before and complete at its end.
        at_once = self.judge & ~self.begins & ~launches & ~aborts
        self.verdict = b.value(b.before(at_once, "at_once") & ~commands, "verdict")

    def _of_section(self, of_each: list[Any]) -> Any:
        """Return the value of the followed section; 0 of one that is not there."""
        return self._b.value(
            Cat(one & (self.number == k) for k, one in enumerate(of_each)).any(),
            f"mine_{of_each[0].name.removeprefix('bench_')}",
        )

    def _wait(self, sent: Value, answers: Value, unanswered: Value, name: str) -> tuple[Any, Any]:
        """Return whether it waits for an answer (state), and whether this cycle's is its own."""
        b = self._b
        waits, ahead = b.register(1, f"waits_{name}"), b.register(_COUNT_BITS, f"ahead_{name}")
        answered = b.value(waits & answers & (ahead == 0), f"answered_{name}")
        b.m.d.sync += waits.eq((waits & ~answered) | sent)
        with b.m.If(sent):
            b.m.d.sync += ahead.eq(unanswered - answers)
        with b.m.Elif(answers):
            b.m.d.sync += ahead.eq(ahead - 1)
        return waits, answered


class Outcome:
    """The words that a host reads of the followed section, as its own completion left them.

    Parameters
    ----------
    b : FormalBench
        The bench.
    one : OneSection
        The section.
    """

    def __init__(self, b: FormalBench, one: OneSection, dut: Any) -> None:
        m = b.m
        done, explained = dut.done[0], dut.error[0]
        # Answers count a cycle after they came.
        launch, abort, command = (
            held_packet(b, packet, f"answered_{name}")
            for name, packet in (
                ("launch", dut.launch_answer),
                ("abort", dut.abort_answer),
                ("command", dut.command_answer),
            )
        )
        status, assigned = b.register(2, "status"), b.register(2, "assigned")
        error, ticket = b.register(32, "error"), b.register(32, "ticket")
        task, count = b.register(8, "task"), b.register(WAIT_BITS, "count")
        #: By whom it completed.
        self.by = {
            name: b.register(1, f"by_{name}") for name in ("launch", "abort", "command", "unit")
        }
        #: Its ERROR is known: it did not complete with a verdict.
        self.exact: Signal = b.register(1, "exact")
        with m.If(one.launched[1]):
            m.d.sync += [error.eq(launch.code | (launch.argument << 16)), ticket.eq(launch.ticket)]
            m.d.sync += [count.eq(launch["count"]), self.by["launch"].eq(1)]
        with m.If(one.aborted[1]):
            m.d.sync += [error.eq(abort.code), self.by["abort"].eq(1)]
        with m.If(one.commanded[1]):
            m.d.sync += [error.eq(command.code), self.by["command"].eq(1)]
        with m.If(one.ends):
            m.d.sync += [
                status.eq(done.status),
                assigned.eq(done.assigned),
                task.eq(done.task),
                self.by["unit"].eq(1),
            ]
        # A unit's code comes a cycle behind its `done`, and a read sees it in that cycle.
        ended = b.before(one.ends, "ended")
        whole = b.value(
            explained.code | (explained.core << 8) | (explained.argument << 16), "explained", 32
        )
        with m.If(ended):
            m.d.sync += error.eq(whole)
        cleared = [status, assigned, error, ticket, task, count, *self.by.values()]
        with m.If(one.rings | one.interrupted):
            m.d.sync += [register.eq(0) for register in cleared]
            m.d.sync += self.exact.eq(1)
        with m.If(one.interrupted):
            m.d.sync += error.eq(int(HostError.RESET))
        with m.If(one.verdict):
            m.d.sync += self.exact.eq(0)
        self.now_exact = b.value(self.exact & ~one.verdict, "now_exact")
        self.words: dict[str, Any] = {
            "STATUS": status,
            "ASSIGNED": assigned,
            "ERROR": Mux(ended, whole, error),
            "RESULT0": ticket,
            "RESULT1": Cat(task, C(0, 16 - len(task)), count),
        }
        self._follow_result(b, one, dut)

    def _follow_result(self, b: FormalBench, one: OneSection, dut: Any) -> None:
        """Follow one result word, which may be any one."""
        result, m = dut.result[0], b.m
        self.which = b.constant(len(result.word), "result_word")
        kept = b.register(32, "result_kept")
        its = result.valid & (result.word == self.which)
        with m.If(one.rings | one.interrupted):
            m.d.sync += kept.eq(0)
        with m.Elif(one.running & its & ~one.interrupted):
            m.d.sync += kept.eq(result.data)
        self.result = kept

    def word(self, b: FormalBench, offset: Value) -> Any:
        """Return the word at an offset of the followed section; 0 of one not followed."""
        found: Any = Mux(offset == word_offset("RESULT8") + self.which, self.result, 0)
        for name, value in self.words.items():
            found = Mux(offset == word_offset(name), value, found)
        return b.value(found, "word", 32)
