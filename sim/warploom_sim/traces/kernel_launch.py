"""One kernel of a recorded trace."""

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelLaunch:
    """One kernel as it was launched and ran.

    Attributes
    ----------
    event : int
        Number of its event in the file's ``traceEvents``, from 0.
    name : str
        The kernel's name.
    grid, block : tuple[int, int, int]
        Blocks of the grid, threads of the block.
    registers : int
        Registers of a thread.
    shared_bytes : int
        Shared memory of a block, static and dynamic.
    start, duration : float
        When it ran, in microseconds.
    stream, device : int
        As the trace numbers them.
    """

    event: int
    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int
    shared_bytes: int
    start: float
    duration: float
    stream: int
    device: int

    @property
    def identity(self) -> tuple[object, ...]:
        """All but the event's number and the block's resources: no two kernels have it alike."""
        where = self.device, self.stream
        return *where, self.start, self.duration, self.name, self.grid, self.block

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        x, y, z = self.grid
        return x * y * z
