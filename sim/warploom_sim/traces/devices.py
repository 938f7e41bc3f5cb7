"""The recorded GPU: what one SM of it holds, from the trace's ``deviceProperties`` and from tables.

Sources of the tables:

- NVIDIA, *CUDA C++ Programming Guide*, 'Technical Specifications per Compute Capability': release
  13.0 (table 27) from 7.5 on, release 12.9 for 5.0 to 7.2; *CUDA Programming Guide* 13.1 (table 30)
  for 10.3 and 12.1. Block slots are 'Maximum number of resident blocks per SM'.
- Barriers: NVIDIA's occupancy calculator (``cuda_occupancy.h`` of CUDA 12) has at least as many as
  block slots, so that they limit no block that has one.
- AMD: LLVM 19, ``AMDGPUBaseInfo.cpp``, ``getMaxWorkGroupsPerCU``: a work group of several waves
  takes one of 16 barriers (32 from gfx10 on), one of a single wave takes none, and a compute unit
  has as many slots as waves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from warploom_sim.traces.trace_file import Place, shown
from warploom_spec import WarploomError
from warploom_spec.launch import RESERVED_SHARED_BYTES

#: Block slots of one SM by compute capability: the one resource that device properties leave out.
BLOCK_SLOTS: Final = {
    **dict.fromkeys(((5, 0), (5, 2), (5, 3), (6, 0), (6, 1), (6, 2), (7, 0), (7, 2)), 32),
    (7, 5): 16,
    (8, 0): 32,
    (8, 6): 16,
    (8, 7): 16,
    (8, 9): 24,
    (9, 0): 32,
    (10, 0): 32,
    (10, 3): 32,
    (11, 0): 24,
    (12, 0): 24,
    (12, 1): 24,
}
#: First compute capability whose blocks each have shared memory that CUDA keeps for itself.
_RESERVES_FROM: Final = (8, 0)
#: The property that AMD's devices have in the place of NVIDIA's ``sharedMemPerMultiprocessor``.
_AMD_SHARED: Final = "maxSharedMemoryPerMultiProcessor"
#: Properties that every GPU has, and no other device.
_OF_GPUS: Final = {"numSms", "warpSize", "maxThreadsPerMultiprocessor", "computeMajor"}
#: AMD's barriers of a compute unit: before gfx10, and from there on.
_AMD_BARRIERS: Final = (16, 32)
_GFX10: Final = 10


@dataclass(frozen=True, kw_only=True)
class Device:
    """A GPU: what decides how many blocks were resident.

    Attributes
    ----------
    name : str
        As the driver names it.
    sms : int
        Streaming multiprocessors; AMD's compute units.
    warp_size : int
        Threads of a warp.
    block_slots, warp_slots, registers, shared_bytes, barriers : int
        Blocks, warps, 32-bit registers, bytes of shared memory and barriers that one SM has.
    reserved_bytes : int
        Shared memory that each block takes beside its own.
    lone_barriers : int
        Barriers that a block of a single warp takes: 1 on NVIDIA's GPUs, 0 on AMD's.
    resources_recorded : bool
        Whether the profiler records registers and shared memory of kernels: not on AMD's GPUs.
    """

    name: str
    sms: int
    warp_size: int
    block_slots: int
    warp_slots: int
    registers: int
    shared_bytes: int
    barriers: int
    reserved_bytes: int = RESERVED_SHARED_BYTES
    lone_barriers: int = 1
    resources_recorded: bool = True

    def block_barriers(self, warps: int) -> int:
        """Return how many barriers a block of so many warps takes."""
        return self.lone_barriers if warps <= 1 else 1


def nvidia(
    name: str, capability: tuple[int, int], sms: int, warps: int, registers: int, shared_bytes: int
) -> Device:
    """Return a GPU of NVIDIA, of a compute capability that `BLOCK_SLOTS` has."""
    slots = BLOCK_SLOTS[capability]
    return Device(
        name=name,
        sms=sms,
        warp_size=32,
        block_slots=slots,
        warp_slots=warps,
        registers=registers,
        shared_bytes=shared_bytes,
        barriers=slots,
        reserved_bytes=RESERVED_SHARED_BYTES if capability >= _RESERVES_FROM else 0,
    )


def amd(
    name: str,
    major: int,
    sms: int,
    waves: int,
    registers: int,
    shared_bytes: int,
    *,
    warp_size: int = 64,
) -> Device:
    """Return a GPU of AMD; ``major`` is the first number of its gfx version."""
    return Device(
        name=name,
        sms=sms,
        warp_size=warp_size,
        block_slots=waves,
        warp_slots=waves,
        registers=registers,
        shared_bytes=shared_bytes,
        barriers=_AMD_BARRIERS[major >= _GFX10],
        reserved_bytes=0,
        lone_barriers=0,
        resources_recorded=False,
    )


@dataclass
class Devices:
    """The devices that a trace describes.

    Attributes
    ----------
    known : dict of int to Device
        GPUs by their numbers.
    wrong : dict of (int or None) to WarploomError
        What is wrong with the description of a device of this number; None: of one without. Nobody
        cares before a kernel ran on it.
    no_gpus : list of str
        In words those that are no GPUs at all.
    """

    known: dict[int, Device] = field(default_factory=dict)
    wrong: dict[int | None, WarploomError] = field(default_factory=dict)
    no_gpus: list[str] = field(default_factory=list)

    def refuse_wrong(self, number: int) -> None:
        """Refuse a device whose description is wrong.

        Raises
        ------
        WarploomError
            If it is described with an error, or any description lacks its number.
        """
        if error := self.wrong.get(number) or self.wrong.get(None):
            raise error


def described(top: Place, listed: Any, given: Device | None) -> Devices:
    """Return what a trace describes.

    Parameters
    ----------
    top : Place
        The file, for messages.
    listed : Any
        Its ``deviceProperties``.
    given : Device or None
        The GPU that ``--gpu`` names: it stands for one whose properties lack a field, or whose
        block slots are not known.

    Raises
    ------
    WarploomError
        If there is no list.
    """
    if not isinstance(listed, list):
        raise top.refuse(f"'deviceProperties' is {shown(listed)}; legal: a list of objects")
    found = Devices()
    for index, properties in enumerate(listed):
        place = Place(top.path, f"deviceProperties {index}")
        number = None
        try:
            if not isinstance(properties, dict):
                raise place.refuse(f"is {shown(properties)}; legal: an object")
            number = place.integer(properties, "id")
            if not (_OF_GPUS & properties.keys()):
                found.no_gpus.append(f"device {number} ({shown(properties.get('name'))})")
            complete = _complete(properties)
            found.known[number] = _device(place, properties) if complete or not given else given
        except WarploomError as error:
            found.wrong.setdefault(number, error)
    return found


def agent(devices: Mapping[int, Device]) -> Device | None:
    """Return the GPU of a kernel whose number is not described; None if it is not known.

    AMD's profiler may number a kernel's GPU among all agents, the processors first. If all GPUs are
    alike, it is one of those.
    """
    kinds = set(devices.values())
    if len(kinds) == 1 and not (only := kinds.pop()).resources_recorded:
        return only
    return None


def _complete(properties: Mapping[str, Any]) -> bool:
    """Return whether all that is read is there, and the compute capability is known."""
    needed = {"name", "numSms", "warpSize", "maxThreadsPerMultiprocessor", "computeMajor"}
    if _AMD_SHARED in properties:
        return needed | {"regsPerBlock"} <= properties.keys()
    needed |= {"computeMinor", "regsPerMultiprocessor", "sharedMemPerMultiprocessor"}
    if not needed <= properties.keys():
        return False
    capability = [properties["computeMajor"], properties["computeMinor"]]
    return capability in map(list, BLOCK_SLOTS)


def _device(place: Place, properties: Mapping[str, Any]) -> Device:
    def positive(name: str) -> int:
        return place.integer(properties, name, low=1)

    name, sms = place.text(properties, "name"), positive("numSms")
    warp_size = positive("warpSize")
    threads = positive("maxThreadsPerMultiprocessor")
    place.integer(properties, "warpSize", low=1, high=threads)
    warps = threads // warp_size
    major = place.integer(properties, "computeMajor")
    if _AMD_SHARED in properties:
        registers, shared = positive("regsPerBlock"), positive(_AMD_SHARED)
        name = name or f"AMD gfx{major}"
        return amd(name, major, sms, warps, registers, shared, warp_size=warp_size)
    capability = (major, place.integer(properties, "computeMinor"))
    if capability not in BLOCK_SLOTS:
        known = ", ".join(f"{major}.{minor}" for major, minor in BLOCK_SLOTS)
        raise place.refuse(
            f"compute capability is {capability[0]}.{capability[1]}; known: {known}"
            " (or name the GPU with --gpu)"
        )
    registers, shared = positive("regsPerMultiprocessor"), positive("sharedMemPerMultiprocessor")
    return nvidia(name, capability, sms, warps, registers, shared)
