"""The published methods, each behind a command."""

from typing import Final

#: Said by those whose blocks do not slow each other down, as those of `warploom sim` do.
WITHOUT_CONTENTION: Final = "without contention: what runs takes as long on full hardware as alone"
