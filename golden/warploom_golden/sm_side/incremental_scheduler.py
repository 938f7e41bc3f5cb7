"""Cycle model of IncrementalScheduler: warp w, instruction k, core j."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_spec import layouts
from warploom_spec.config import Config


@dataclass(frozen=True)
class Program:
    """A block's program: its warps' place, and the instructions of each warp."""

    address: int
    warps: int
    instructions: int


@dataclass(frozen=True)
class Item:
    """One instruction of one warp; ``last`` if its program has none after it."""

    program: Program
    warp: int
    instruction: int

    @property
    def last(self) -> bool:
        """Whether it ends its program."""
        end = self.program
        return self.warp == end.warps - 1 and self.instruction == end.instructions - 1

    def next_core(self) -> "Item | None":
        """Return what the next core runs one step later."""
        if self.instruction + 1 == self.program.instructions:
            return None
        return Item(self.program, self.warp, self.instruction + 1)


class IncrementalScheduler:
    """Cycle model of IncrementalScheduler.

    Ports and rules: ``docs/sm_side/incremental_scheduler.md``. A stall and a refused read freeze
    the whole schedule alike.

    Parameters
    ----------
    config : Config
        Cores and widths.
    """

    def __init__(self, config: Config):
        self._cores_count = config.cores
        self._request = layouts.schedule_request(config)
        self._read = layouts.index_read(config)
        self._issue = layouts.warp_issue(config)
        self.reset()

    def reset(self) -> None:
        """Forget programs and what the cores hold."""
        self._program: Program | None = None
        self._warp = 0
        self._pass = 0
        self._gap = 0
        self._cores: list[Item | None] = [None] * self._cores_count
        self._moved = False
        self._ended_at_once = False

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        runs = [item if self._moved else None for item in self._cores]
        due = self._due(inputs)
        reads = runs[0] is not None
        word = inputs["data__payload"] if reads and inputs["data__valid"] else None
        last = any(item is not None and item.last for item in runs)
        return {
            "i__ready": int(self._program is None or self._leaves(inputs)),
            "read__payload": self._read_request() if due else None,
            "read__valid": int(due),
            "data__ready": int(reads),
            "word": word,
            "finished": int(last or self._ended_at_once),
        } | {f"issue__{core}": self._shown(item) for core, item in enumerate(runs)}

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; a step is counted unless the cycle is frozen (3 to 5)."""
        due = self._due(inputs)
        granted = due and inputs["read__ready"]
        accepts = self._program is None or self._leaves(inputs)
        self._moved = bool(granted or not (due or inputs["stall"]))
        if self._moved:
            self._move(self._take_item() if granted else None)
        self._ended_at_once = False
        if inputs["i__valid"] and accepts:
            self._hold(inputs["i__payload"])

    def _due(self, inputs: Mapping[str, int]) -> bool:
        """Tell whether core 0's next item is due and the schedule is not stalled (3, 5)."""
        return self._program is not None and not self._gap and not inputs["stall"]

    def _leaves(self, inputs: Mapping[str, int]) -> bool:
        """Tell whether the held program's last core-0 item is granted in this cycle (1)."""
        program = self._program
        if program is None or not self._due(inputs) or not inputs["read__ready"]:
            return False
        return self._warp == program.warps - 1 and self._is_last_pass(program)

    def _is_last_pass(self, program: Program) -> bool:
        return (self._pass + 1) * self._cores_count >= program.instructions

    def _read_request(self) -> int:
        assert self._program is not None
        return self._read.pack(
            {
                "address": self._program.address,
                "warp": self._warp,
                "index_warps": self._program.warps,
            }
        )

    def _take_item(self) -> Item:
        """Return core 0's item and go on to the next one.

        A pass has at least as many steps as there are cores: the rest passes without items (4).
        """
        program = self._program
        assert program is not None
        item = Item(program, self._warp, self._pass * self._cores_count)
        self._warp += 1
        if self._warp == program.warps:
            # One more than the steps without an item: this step is counted below as well.
            self._gap = max(self._cores_count - program.warps, 0) + 1
            if self._is_last_pass(program):
                self._program = None
            self._warp = 0
            self._pass += 1
        return item

    def _move(self, item: Item | None) -> None:
        """Count a step: every core hands its item to the next one (6)."""
        handed = [held.next_core() if held else None for held in self._cores[:-1]]
        self._cores = [item, *handed]
        self._gap = max(self._gap - 1, 0)

    def _hold(self, payload: int) -> None:
        fields = self._request.unpack(payload)
        program = Program(fields["address"], fields["warps"], fields["instructions"])
        if not program.warps or not program.instructions:
            self._ended_at_once = True
            return
        self._program, self._warp, self._pass = program, 0, 0

    def _shown(self, item: Item | None) -> int:
        if item is None:
            return 0
        return self._issue.pack({"valid": 1, "warp": item.warp, "instruction": item.instruction})
