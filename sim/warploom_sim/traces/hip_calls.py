"""What AMD's launch calls say of kernels that their own events do not, or say otherwise."""

from dataclasses import dataclass, field, replace
from typing import Any, Final

from warploom_sim.traces.kernel_launch import KernelLaunch

#: Calls whose grid counts threads (HIP: ``globalWorkSizeX``), and with it that of their kernels.
THREAD_GRID_CALLS: Final = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")


@dataclass
class HipCalls:
    """Launch calls of a trace, as they are read.

    Attributes
    ----------
    in_threads : set of int
        Correlation ids of calls whose grid counts threads.
    shared_bytes : dict of int to int
        Dynamic shared memory of a block, by correlation id.
    """

    in_threads: set[int] = field(default_factory=set)
    shared_bytes: dict[int, int] = field(default_factory=dict)

    def note_call(self, name: str, correlation: int | None, arguments: Any) -> None:
        """Note a call of the runtime."""
        if correlation is None or not name.startswith("hip"):
            return
        if name in THREAD_GRID_CALLS:
            self.in_threads.add(correlation)
        shared = arguments.get("shared memory")
        if type(shared) is int and shared >= 0:
            self.shared_bytes[correlation] = shared

    def corrected(self, launch: KernelLaunch, correlation: int) -> KernelLaunch:
        """Return a kernel of AMD with its grid in blocks and its dynamic shared memory."""
        shared = launch.shared_bytes or self.shared_bytes.get(correlation, 0)
        x, y, z = launch.grid
        if correlation in self.in_threads:
            x, y, z = (
                -(-size // max(1, threads))
                for size, threads in zip(launch.grid, launch.block, strict=True)
            )
        return replace(launch, grid=(x, y, z), shared_bytes=shared)
