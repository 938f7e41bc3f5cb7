"""KernelQueue's end register: what becomes of a launch that leaves its place."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data

from warploom.launch._queue_shapes import CLOCK_BITS, QueueShape, spread
from warploom_spec import ErrorCode, Fate
from warploom_spec.errors import ERROR_CODE_BITS
from warploom_spec.layouts import CYCLES_BITS, FATE_BITS
from warploom_spec.queue import FinalFate, Mode, QueueCode


class QueueEnds:
    """Handle a record in the cycle after ``ended``.

    Attributes
    ----------
    arrives : Signal
        A record is at ``ended`` in this cycle; ``place``: its place's launch; ``record``: it.
    valid, launch, fate : Signal
        The end register.
    first_offer : Signal
        When its launch began, if it did.
    known : view
        What was kept of its launch, or of another one whose record is made.
    is_known : Signal
        Something was kept.
    old_start : view
        Where its launch went on; ``start_moves``: it goes on elsewhere.
    final, started, puts_back, finished, fails : Signal
        What happens in this cycle: a final record; of a launch that has started; it is put back;
        it has finished; its stream breaks.
    final_fate, code : Signal
        Of the final record.
    kept : view
        The progress to keep.
    put_fate : Signal
        The fate that ``put_back`` says.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        self.arrives = Signal()
        self.place: Any = Signal(shape.in_place(), name="end_place")
        members = {"fate": FATE_BITS, "code": ERROR_CODE_BITS, "cycles": CYCLES_BITS}
        self.record: Any = Signal(
            data.StructLayout({**members, **shape.resumed()}), name="end_record_in"
        )
        self.valid = Signal(name="end_valid")
        self.was_valid = Signal(name="end_was_valid")
        self.launch: Any = Signal(shape.in_place(), name="end_launch")
        self.result: Any = Signal(self.record.shape(), name="end_result")
        self.first_offer = Signal(CLOCK_BITS, name="end_first_offer")
        self.known: Any = Signal(shape.history())
        self.is_known = Signal()
        self.old_start: Any = Signal(data.StructLayout(shape.start()), name="old_start")
        self.start_moves = Signal()
        self.final, self.started, self.puts_back = (
            Signal(name="final"),
            Signal(name="started"),
            Signal(name="puts_back"),
        )
        self.finished, self.breaks = Signal(name="finished"), Signal(name="breaks")
        self.final_fate, self.code = (
            Signal(FinalFate, name="final_fate"),
            Signal(ERROR_CODE_BITS, name="code"),
        )
        self.kept: Any = Signal(shape.progress(), name="progress_kept")

    def build(self, m: Module) -> None:
        """Add the register and its handling."""
        m.d.sync += [
            self.valid.eq(self.arrives),
            self.was_valid.eq(self.valid),
            self.launch.eq(self.place),
            self.result.eq(self.record),
        ]
        # A launch that was killed or skipped starts anew, if it has not started before.
        fate = self.record.fate
        with m.If((fate == Fate.KILLED) | (fate == Fate.SKIPPED)):
            m.d.sync += [self.result[name].eq(0) for name in self._shape.resumed()]
        self._judge(m)
        self._keep(m)

    def _judge(self, m: Module) -> None:
        fate = self.result.fate
        # What happens to it is known as the record arrives: registers.
        arriving = self.record.fate
        killed = arriving == Fate.KILLED
        if not self._shape.config.sm_kill:
            killed = killed | (arriving == Fate.DRAINED)
        timeout = Signal(name="end_timeout")
        failed = arriving == Fate.FAILED
        ends = failed | (arriving == Fate.FINISHED) | (self.place.timed_out & killed)
        final = ends | self.place.aborted
        lost = failed & (self.record.code == ErrorCode.SM_LOST)
        m.d.sync += [
            timeout.eq(self.place.timed_out & killed),
            self.final.eq(self.arrives & final),
            self.puts_back.eq(self.arrives & ~final),
            self.started.eq(self.place.again | self.place.begun),
            self.finished.eq(self.arrives & (arriving == Fate.FINISHED)),
            self.breaks.eq(self.arrives & lost),
        ]
        finished, failed = fate == Fate.FINISHED, fate == Fate.FAILED
        with m.If(finished):
            m.d.comb += self.final_fate.eq(FinalFate.FINISHED)
        with m.Elif(failed):
            m.d.comb += [self.final_fate.eq(FinalFate.FAILED), self.code.eq(self.result.code)]
        with m.Elif(timeout):
            m.d.comb += [self.final_fate.eq(FinalFate.FAILED), self.code.eq(QueueCode.TIMEOUT)]
        with m.Else():
            m.d.comb += self.final_fate.eq(FinalFate.ABORTED)

    def _keep(self, m: Module) -> None:
        """Say what is kept of the launch, and shown in its record, or in another one's."""
        launch, result, kept, old = self.launch, self.result, self.kept, self.known
        reset = launch.mode == Mode.RESET
        skipped = result.fate == Fate.SKIPPED
        drained = self.valid & launch.draining & reset & ~launch.idempotent & ~skipped
        begun = self.valid & launch.begun
        killed = self.puts_back & (result.fate == Fate.KILLED)
        kills = spread(self.is_known, old.kills)
        shows_old = self.is_known & ~begun
        values = {
            "kills": kills + (killed & ~kills.all()),
            "reset_as_drain": (self.is_known & old.reset_as_drain) | drained,
            "offered": (self.is_known & old.offered) | begun,
            "first_offer": spread(begun, self.first_offer) | spread(shows_old, old.first_offer),
            "cycles": spread(begun, result.cycles) | spread(shows_old, old.cycles),
        }
        # An again skipped launch keeps its block.
        m.d.comb += self.start_moves.eq(~(skipped & launch.again))
        values.update({name: result[name] for name in self._shape.resumed()})
        m.d.comb += [kept[name].eq(value) for name, value in values.items()]
