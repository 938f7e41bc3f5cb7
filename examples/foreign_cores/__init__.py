"""Cores of other projects behind FrontEnd: of the user's own checkout, none is part of this one."""

from foreign_cores.tiny_gpu import (
    THREADS,
    Outcome,
    add_vectors,
    bench_files,
    built_bench,
    repaired,
    verilate,
)

__all__ = [
    "THREADS",
    "Outcome",
    "add_vectors",
    "bench_files",
    "built_bench",
    "repaired",
    "verilate",
]
