"""Figures of a replay, computed from its events."""

from warploom_golden.replay.event_model import Events


def cycles(events: Events) -> int:
    """Return the cycles from cycle 0 to the last answer or final record, that one included."""
    last = max(int(events.tables[kind]["cycle"].max(initial=0)) for kind in ("answers", "ended"))
    return last + 1
