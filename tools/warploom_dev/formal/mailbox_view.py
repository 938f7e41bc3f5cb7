"""What a bench of Mailbox sees, from the page: its ports, and one section cycle by cycle."""

from typing import Any, Final

from amaranth.hdl import C, Cat, Mux, Signal, Value
from amaranth.lib import data

from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import Config, ErrorCode
from warploom_spec.host_commands import STREAM_COMMANDS, Opcode
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
    loop_templates=0,
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
        #: A write asks for section k's doorbell, refused or not.
        asks = write.valid & (offset == word_offset("DOORBELL")) & write.strobes.all()
        asks &= write.data == 1
        self.asks = [b.value(asks & (section == k), f"asks_{k}") for k in sections]
        #: The command of section k is judged (state).
        self.judge = [b.before(ring, f"judge_{k}") for k, ring in enumerate(self.rings)]
        opcodes = [self._task_bits(k, "T0") for k in sections]
        masks = [self._task_bits(k, "T1") for k in sections]
        gone = [dut.disconnected[0], *(0 for _ in sections[1:])]

        def judged(name: str, asked: list[Any]) -> list[Any]:
            """Return for each section whether its command is judged, and goes on."""
            parts = zip(self.judge, asked, gone, strict=True)
            return [
                b.value(judge & one & ~Value.cast(out)[0], f"{name}_{k}")
                for k, (judge, one, out) in enumerate(parts)
            ]

        is_launch, is_abort = (
            [opcode[:8] == int(wanted) for opcode in opcodes]
            for wanted in (Opcode.LAUNCH, Opcode.ABORT)
        )
        streams = 1 << CONFIG.stream_bits
        is_command = [
            Cat(opcode[:8] == int(one) for one in STREAM_COMMANDS).any()
            & mask.any()
            & ~mask[streams:].any()
            for opcode, mask in zip(opcodes, masks, strict=True)
        ]
        #: Section k's launch begins to wait; its abort, its command for streams is to be sent.
        self.waits = judged("waits", is_launch)
        self.aborts = judged("aborts", is_abort)
        self.commands = judged("commands", is_command)
        self._take_turns(b, dut)
        gave = dut.command.valid & dut.command.ready
        any_command = Cat(self.commands).any()
        #: Commands that were judged and are not taken (state); one is taken.
        self.pending = self._count(any_command, gave, "pending")
        self.taken = b.value(gave, "taken")
        answers = {
            name: getattr(dut, f"{name}_answer").valid for name in ("launch", "abort", "command")
        }
        sent = {
            "launch": self.sent,
            "abort": Cat(self.aborts).any(),
            "command": any_command,
        }
        handed = {
            "launch": self.sent,
            "abort": dut.abort.valid & dut.abort.ready,
            "command": gave,
        }
        #: Those that the launch path has taken and not answered (state).
        self.unanswered = [self._count(handed[name], answers[name], name) for name in answers]
        #: One was answered in the cycle before: its section completes in this one.
        self.heard = [b.before(answers[name], f"heard_{name}") for name in answers]
        #: Those that are not answered, or were answered in the cycle before (state).
        self.unheard = [
            self._count(sent[name], heard, f"heard_{name}")
            for name, heard in zip(answers, self.heard, strict=True)
        ]

    def _take_turns(self, b: FormalBench, dut: Any) -> None:
        """Follow whose launch waits, whose task is read, and who stops waiting: two sections."""
        waiting = [b.register(1, f"waiting_{k}") for k in range(CONFIG.sections)]
        second_older = b.register(1, "second_older")
        was_read = b.register(1, "was_read", keeps=True)
        valid = waiting[0] | waiting[1]
        oldest = b.value(Mux(waiting[0] & waiting[1], second_older, waiting[1]), "oldest")
        rest = Mux(valid, oldest, was_read)
        b.m.d.sync += was_read.eq(Mux(self.asks[0], 0, Mux(self.asks[1], 1, rest)))
        shown = valid & (was_read == oldest)
        leaves = b.value(shown & dut.launch.ready & ~dut.clearing & ~self.closed, "leaves")
        with b.m.If(self.waits[0]):
            b.m.d.sync += second_older.eq(1)
        with b.m.Elif(self.waits[1]):
            b.m.d.sync += second_older.eq(0)
        #: Section k's launch waits (state), and stops waiting.
        self.waiting = waiting
        self.leaves = [b.value(leaves & (oldest == k), f"leaves_{k}") for k in range(2)]
        for state, begins, stops in zip(waiting, self.waits, self.leaves, strict=True):
            b.m.d.sync += state.eq((state | begins) & ~stops & ~self.closed)
        # The data that hosts write leave each launch's priority 0.
        has_room = dut.room[0]
        #: The launch that stops waiting goes; otherwise it is refused, and why.
        self.sent = b.value(leaves & has_room & dut.records_left, "sent")
        full = Mux(has_room, int(ErrorCode.COMPLETION_FULL), int(ErrorCode.QUEUE_FULL))
        self.full = b.before(b.value(full, "full", 8), "why_full")

    def _task_bits(self, k: int, name: str) -> Any:
        """Follow those bits of a word of a task register that are written; a reset leaves them."""
        word = self._b.register(9, f"{name}_{k}", keeps=True)
        here = self.writes[k] & (offset_of(self.write.address) == word_offset(name))
        for low, high, strobe in ((0, 8, 0), (8, 9, 1)):
            with self._b.m.If(here & self.write.strobes[strobe]):
                self._b.m.d.sync += word[low:high].eq(self.write.data[low:high])
        return word

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
        self._b, dut = b, bells.dut
        self.full = bells.full
        self.number = b.constant(_SECTION_BITS, "section")
        self.has_unit = b.value(self.number == 0, "has_unit")
        self.rings = self._of_section(bells.rings)
        self.judge = self._of_section(bells.judge)
        opens = ~bells.closed
        its = {
            name: self._of_section(getattr(bells, name))
            for name in ("waits", "aborts", "commands", "waiting", "leaves")
        }
        kept = b.register(1, "kept_running")
        judged = b.before(self.judge, "judged")
        #: Its unit gets its task.
        self.begins = b.value(judged & dut.run[0].valid & self.has_unit, "begins")
        self.running = b.value(kept | self.begins, "running")
        #: Its launch goes; it was turned away in the cycle before, and completes.
        self.sent = b.value(its["leaves"] & bells.sent, "its_launch")
        self.turned = b.before(its["leaves"] & ~bells.sent, "turned")
        #: Its launch, abort, command waits for its answer; it is answered.
        self.launched = self._wait(self.sent, bells.heard[0], bells.unheard[0], "launch")
        self.aborted = self._wait(its["aborts"], bells.heard[1], bells.unheard[1], "abort")
        self.commanded = self._wait(its["commands"], bells.heard[2], bells.unheard[2], "command")
        #: Its command is taken.
        self.given = self._wait(its["commands"], bells.taken, bells.pending, "given")[1]
        self.ends = b.value(self.running & dut.done[0].valid & opens, "ends")
        stops = self.running | its["waiting"]
        self.interrupted = b.value(stops & ~opens, "interrupted")
        b.m.d.sync += kept.eq(self.running & ~self.ends & opens)
        awaits = self.launched[0] | self.aborted[0] | self.commanded[0] | self.turned
        #: The doorbell (state).
        self.doorbell = b.value(self.judge | self.running | its["waiting"] | awaits, "doorbell")
        #: It was judged in the cycle before and complete at its end.
        goes_on = its["waits"] | its["aborts"] | its["commands"]
        at_once = b.before(self.judge & ~goes_on, "at_once")
        self.verdict = b.value(at_once & ~self.begins, "verdict")

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
            name: b.register(1, f"by_{name}")
            for name in ("launch", "turned", "abort", "command", "unit")
        }
        #: Its ERROR is known: it did not complete with a verdict.
        self.exact: Signal = b.register(1, "exact")
        with m.If(one.launched[1]):
            m.d.sync += [error.eq(launch.code | (launch.argument << 16)), ticket.eq(launch.ticket)]
            m.d.sync += [count.eq(launch["count"]), self.by["launch"].eq(1)]
        with m.If(one.turned):
            m.d.sync += [error.eq(one.full), self.by["turned"].eq(1)]
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
