"""Error records of BlockDispatcher's cycle model."""

from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode

_MOST = (1 << 16) - 1


class ErrorRecords:
    """Rule 28.

    Parameters
    ----------
    config : Config
        Widths.

    Attributes
    ----------
    record, count : int
        The ports `error` and `error_count`.
    """

    def __init__(self, config: Config):
        self._packet = layouts.error_record(config)
        self.record = self.count = 0

    def tick(self, error: tuple[ErrorCode, int] | None) -> None:
        """End a cycle, with the error whose record appears in the next one."""
        self.record = 0
        if error is not None:
            code, argument = error
            self.record = self._packet.pack({"valid": 1, "code": code, "argument": argument})
            self.count = min(self.count + 1, _MOST)
