"""Writes a paragraph on what blocked the head of a run."""

from collections.abc import Mapping
from typing import Final

from warploom_sim.replay.analysis.limits import LABELS
from warploom_sim.replay.replay_result import Replay
from warploom_spec import RESOURCES, timing

#: The paragraph leaves out causes that held for a smaller part of the time than this.
_LEAST: Final = 0.02
#: The meaning of each cause: the rest of a sentence that begins 'For .. % of the time'.
_MEANS: Final = {
    "rate": "a block is placed in each cycle, and no policy does more",
    "reclaim": "room is there, but not given back yet: a report takes {returns} cycles{in_order}",
    "order": "the next launch waits for the last blocks of the one before it",
    "path": "the next launch is on its way: checked, its indices looked up, handed over",
    "arrivals": "no launch has arrived",
    "waits": "the next launch waits for a launch of another stream",
    "nothing_left": "nothing is left to place: the last blocks run",
}


def blocked_sentences(replay: Replay, shares: Mapping[str, float]) -> list[str]:
    """Return sentences on what blocked the head, the cause that held longest first.

    Parameters
    ----------
    replay : Replay
        The run.
    shares : mapping of str to float
        Part of the time for which each cause held, by its name.
    """
    ranked = sorted(shares, key=lambda name: -shares[name])
    ranked_first = [name for name in ranked if shares[name] >= _LEAST] or ranked[:1]
    in_order = replay.config.reclaim == "in_order"
    words = {
        "returns": str(timing(replay.config).resident_returns),
        "in_order": ", and waits for all earlier blocks (in order)" if in_order else "",
    }
    return [f"{_share(name, shares, words)}." for name in ranked_first]


def _share(name: str, shares: Mapping[str, float], words: Mapping[str, str]) -> str:
    text = f"For {shares[name]:.1%} of the time "
    if name in RESOURCES:
        return text + f"no SM has enough {LABELS[name]} left for the next block"
    return text + _MEANS[name].format(**words)
