"""GPUs by name, and from a JSON file: for traces that do not describe theirs.

Sources: SMs are those of NVIDIA's data sheets and architecture papers (what ``cudaDeviceProp`` says
of the product), warps and shared memory those of the tables that `warploom_sim.traces.devices`
names. Compute units, waves, registers and local data share of AMD's are those of ROCm 7's 'AMD GPU
specifications'; a device of MI250 and MI250X is one of its two dies.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from warploom_sim.traces.devices import Device, amd, nvidia
from warploom_sim.traces.trace_file import Place, shown
from warploom_spec import WarploomError
from warploom_spec.config import WARP_SIZES
from warploom_spec.launch import RESERVED_SHARED_BYTES

_REGISTERS: Final = 65_536
_KIB: Final = 1024
#: Warps and KiB of shared memory of one SM by compute capability.
_SM_SIZES: Final = {
    (6, 0): (64, 64),
    (6, 1): (64, 96),
    (7, 0): (64, 96),
    (7, 5): (32, 64),
    (8, 0): (64, 164),
    (8, 6): (48, 100),
    (8, 9): (48, 100),
    (9, 0): (64, 228),
    (10, 0): (64, 228),
    (12, 0): (48, 100),
}
#: Compute capability, and SMs.
_NVIDIA: Final = {
    "P100": ((6, 0), 56),
    "GTX1080Ti": ((6, 1), 28),
    "V100": ((7, 0), 80),
    "T4": ((7, 5), 40),
    "RTX2080Ti": ((7, 5), 68),
    "A100": ((8, 0), 108),
    "A30": ((8, 0), 56),
    "A10": ((8, 6), 72),
    "A40": ((8, 6), 84),
    "RTX3080": ((8, 6), 68),
    "RTX3090": ((8, 6), 82),
    "L4": ((8, 9), 58),
    "L40S": ((8, 9), 142),
    "RTX4090": ((8, 9), 128),
    "H100": ((9, 0), 132),
    "H100-PCIe": ((9, 0), 114),
    "H200": ((9, 0), 132),
    "B200": ((10, 0), 148),
    "RTX5090": ((12, 0), 170),
}
#: Compute units, waves of one, and KiB of its local data share.
_AMD: Final = {
    "MI100": (120, 40, 64),
    "MI210": (104, 32, 64),
    "MI250": (104, 32, 64),
    "MI250X": (110, 32, 64),
    "MI300A": (228, 32, 64),
    "MI300X": (304, 32, 64),
    "MI325X": (304, 32, 64),
    "MI355X": (256, 32, 160),
}
#: All of these are gfx9, with 512 KiB of vector registers in a compute unit.
_AMD_GFX, _AMD_REGISTERS = 9, 512 * _KIB // 4


def _known() -> dict[str, Device]:
    found = {}
    for name, (capability, sms) in _NVIDIA.items():
        warps, shared = _SM_SIZES[capability]
        found[name] = nvidia(name, capability, sms, warps, _REGISTERS, shared * _KIB)
    for name, (sms, warps, shared) in _AMD.items():
        found[name] = amd(name, _AMD_GFX, sms, warps, _AMD_REGISTERS, shared * _KIB)
    return found


#: Every GPU that ``--gpu`` knows by name.
GPUS: Final[Mapping[str, Device]] = _known()
#: What a JSON file says of a GPU: of each number its range, what an SM of any GPU may have.
RANGES: Final = {
    "sms": (1, 1024),
    "block_slots": (1, 128),
    "warp_slots": (1, 128),
    "registers": (1, 2**20),
    "shared_bytes": (1, 2**20),
    "barriers": (1, 1024),
    "reserved_bytes": (0, 2**16),
}
#: Those that a file may leave out; barriers are then as many as block slots.
_OPTIONAL: Final = ("name", "warp_size", "barriers", "reserved_bytes")
FIELDS: Final = ("name", "warp_size", *RANGES)


@dataclass(frozen=True)
class Gpu:
    """A GPU that ``--gpu`` names.

    Attributes
    ----------
    text : str
        Its name, or the content of its JSON file; `named` takes it back.
    device : Device
        What it is.
    given : str
        As it stood on the command line.
    """

    text: str
    device: Device
    given: str = field(compare=False)


def named(text: str) -> Gpu:
    """Return the GPU of a name, of a JSON file, or of the content of one.

    Raises
    ------
    WarploomError
        If a file's field is missing, unknown or illegal; names it and its range.
    ValueError
        If it is neither a name nor a file.
    """
    if text.startswith("{"):
        return _of_json(Path("gpu"), text, text)
    for name, device in GPUS.items():
        if name.lower() == text.lower():
            return Gpu(name, device, name)
    path = Path(text)
    if not path.is_file():
        raise ValueError
    try:
        return _of_json(path, path.read_text("utf-8-sig"), text)
    except (OSError, UnicodeDecodeError) as error:
        raise WarploomError(f"{path}: {error}") from error


def _of_json(path: Path, content: str, given: str) -> Gpu:
    place = Place(path)
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise place.refuse(f"not JSON: {error}") from error
    if not isinstance(values, dict):
        raise place.refuse(f"is {shown(values)}; legal: an object with {', '.join(FIELDS)}")
    for name in values:
        if name not in FIELDS:
            raise place.refuse(f"field is {shown(name)}; legal: {', '.join(FIELDS)}")
    device = _device(place, values)
    kept = {name: getattr(device, name) for name in FIELDS}
    return Gpu(json.dumps(kept, separators=(",", ":")), device, given)


def _device(place: Place, values: Mapping[str, Any]) -> Device:
    found: dict[str, Any] = {}
    for name, (low, high) in RANGES.items():
        if name in values or name not in _OPTIONAL:
            if name not in values:
                raise place.refuse(
                    f"field {name!r} is missing; legal: an integer from {low} to {high}"
                )
            found[name] = place.integer(values, name, low, high)
    warp_size = values.get("warp_size", 32)
    if type(warp_size) is not int or warp_size not in WARP_SIZES:
        legal = ", ".join(map(str, WARP_SIZES))
        raise place.refuse(f"'warp_size' is {shown(warp_size)}; legal: {legal}")
    return Device(
        name=place.text(values, "name") if "name" in values else place.path.stem,
        warp_size=warp_size,
        **{"barriers": found["block_slots"], "reserved_bytes": RESERVED_SHARED_BYTES} | found,
    )
