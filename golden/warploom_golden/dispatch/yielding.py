"""Which of two launches in BlockDispatcher's cycle model yields, waits or fits beside the other.

Numbers are the rules of ``docs/dispatch/block_dispatcher.md``.
"""

from collections.abc import Sequence

from warploom_golden.dispatch.place import Place
from warploom_spec.timing import Timing


def is_held_by_order(place: Place, places: Sequence[Place]) -> bool:
    """Tell whether stream order holds a place back (7); ``places`` has the older one first."""
    older = places[0]
    same_stream = older.launch["stream"] == place.launch["stream"]
    return bool(older is not place and same_stream and place.launch["after_previous"])


def outranks(place: Place, other: Place, places: Sequence[Place]) -> bool:
    """Tell whether the other place is outranked by this one (51)."""
    return (
        other.may_yield
        and place.priority > other.priority
        and not place.stop
        and place.walk is not None
        and not is_held_by_order(place, places)
    )


def outranked(places: Sequence[Place]) -> list[Place]:
    """Return the places that are outranked (51)."""
    if len(places) < 2:
        return []
    pairs = ((places[0], places[1]), (places[1], places[0]))
    return [other for place, other in pairs if outranks(place, other, places)]


def next_waiting(places: Sequence[Place]) -> Place | None:
    """Return the place that may be the candidate: who outranks, else the older one (7, 53)."""
    waiting = [place for place in places if not place.given and not place.stop]
    if len(waiting) == 2 and outranks(waiting[1], waiting[0], places):
        return waiting[1]
    return waiting[0] if waiting else None


def fit_is_known_from(head: Place, places: Sequence[Place], timing: Timing) -> int:
    """Return the first cycle in which it is known what fits beside the other launch (15b, 57)."""
    since, beside = head.transferred, 0
    for other in places:
        if other is head:
            continue
        beside = other.need.most
        if other.transferred > head.transferred:
            counted = head.transferred + head.need.most + timing.fit_again
            since = max(other.transferred, counted)
    return since + timing.fit_table + 2 * head.need.most + beside
