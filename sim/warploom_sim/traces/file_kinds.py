"""What a file is that is no trace of the PyTorch profiler, told by its first bytes."""

import re
import tarfile
from typing import Any, Final

#: What a trace is, for messages.
LEGAL: Final = "legal: JSON of the PyTorch profiler, plain, gzip or zstd"
_UNPACK: Final = "unpack it first"
_EXPORT: Final = "Warploom reads the JSON that `prof.export_chrome_trace` writes"
#: First bytes of files, what they are, and what to do; the first that fits counts.
_MAGIC: Final = (
    *(
        (begin.encode(f"{wide}-{order}"), f"{wide.upper()} text", "save it as UTF-8")
        # UTF-32 first: it begins as UTF-16 does. A byte order mark is a character, too.
        for wide in ("utf-32", "utf-16")
        for order in ("le", "be")
        for begin in "\ufeff{[ \t\r\n"
    ),
    (b"\x00" * 8, "zeros where text should be", "was it written and copied to its end?"),
    (b"\x1f\x8b", "packed twice, gzip the second time", "unpack it once"),
    (b"\x28\xb5\x2f\xfd", "packed twice, zstd the second time", "unpack it once"),
    (b"PK\x03\x04", "a zip archive", _UNPACK),
    (b"PK\x05\x06", "an empty zip archive", _UNPACK),
    (b"BZh", "packed with bzip2", _UNPACK),
    (b"\xfd7zXZ\x00", "packed with xz", _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"\x04\x22\x4d\x18", "packed with lz4", _UNPACK),
    (b"Rar!", "a rar archive", _UNPACK),
    (b"NVR\x00", "a report of Nsight Compute", _EXPORT),
    (b"PAR1", "a Parquet file", _EXPORT),
    (b"\x89HDF", "an HDF5 file", _EXPORT),
    (b"\x7fELF", "a program", _EXPORT),
    (b"version https://git-lfs", "a pointer of Git LFS", "fetch the file itself: `git lfs pull`"),
    (b"<", "a page or XML", _EXPORT),
)
#: Names of tables in an SQLite file, and whose file it is.
_TABLES: Final = ((b"CUPTI_ACTIVITY_KIND", "Nsight Systems"), (b"rocpd_", "rocprof"))
_SQLITE: Final = b"SQLite format 3\x00"
#: Endings of names whose files have no first bytes of their own.
_ENDINGS: Final = {
    ".nsys-rep": "a report of Nsight Systems",
    ".qdrep": "a report of Nsight Systems",
    ".pb": "a protocol buffer",
    ".pftrace": "a trace of Perfetto",
    ".perfetto-trace": "a trace of Perfetto",
}
#: Field 1, length-delimited: how the trace of XLA and that of Perfetto begin.
_PROTOBUF: Final = b"\x0a"
#: Names of a plane of XLA's profiler.
_PLANE: Final = re.compile(rb"/(host|device):[A-Za-z]+|/host:metadata|Task Environment")
#: Columns of tables, and whose they are.
_COLUMNS: Final = (
    (re.compile(rb"kernel_?name|agent_id|gpu-id", re.IGNORECASE), "rocprof"),
    (re.compile(rb"\((ns|us|ms|%)\)"), "Nsight"),
)
#: Bytes that are looked at for what stands near the beginning.
_NEAR: Final = 1 << 16
_TAR_BLOCK: Final = 512
#: Fields of JSON files of other programs, and what the files are.
_FIELDS: Final = {
    "rocprofiler-sdk-tool": "the JSON of rocprof",
    "nodes": "an execution trace (Chakra), which has no times of kernels",
    "segments": "a memory snapshot of PyTorch",
    "planes": "an XPlane of XLA as JSON",
}


def foreign(name: str, data: bytes) -> str:
    """Return in words what a file is that is no trace, and what to do; "" if it may be one.

    Parameters
    ----------
    name : str
        The file's name.
    data : bytes
        Its content, unpacked if it was packed.
    """
    if data.startswith(_SQLITE):
        whose = next((f" of {tool}" for table, tool in _TABLES if table in data), "")
        return f"an SQLite file{whose}; {_EXPORT}"
    for magic, what, advice in _MAGIC:
        if data.startswith(magic):
            return f"{what}; {advice}; {LEGAL}"
    if _is_tar(data):
        return f"a tar archive; {_UNPACK}; {LEGAL}"
    if data.startswith(_PROTOBUF) and _PLANE.search(data[:_NEAR]):
        return f"an XPlane of XLA's profiler (.xplane.pb); {_EXPORT}"
    if data[:1] not in (b"{", b"[", b" ", b"\n", b"\r", b"\t"):
        return _of_name(name) or _table(data)
    return ""


def _is_tar(data: bytes) -> bool:
    """Tell a tar by the checksum of its first header, which old ones have, too."""
    try:
        return bool(tarfile.TarInfo.frombuf(data[:_TAR_BLOCK], "utf-8", "replace"))
    except tarfile.HeaderError:
        return False


def _of_name(name: str) -> str:
    base = name.removesuffix(".gz").removesuffix(".zst")
    for ending, what in _ENDINGS.items():
        if base.endswith(ending):
            return f"{what}; {_EXPORT}"
    return ""


def _table(data: bytes) -> str:
    """Return whose table of comma-separated values a file is; "" if nobody's that is known."""
    head = data[:_NEAR].partition(b"\n")[0]
    for columns, tool in _COLUMNS:
        if head.count(b",") > 1 and columns.search(head):
            return f"a table (CSV) of {tool}; {_EXPORT}"
    return ""


def other_json(content: Any) -> str:
    """Return in words whose JSON a file is that has no list of events; "" if it is not known."""
    if isinstance(content, dict):
        for field, what in _FIELDS.items():
            if field in content:
                return f"{what}; {_EXPORT}"
    return ""
