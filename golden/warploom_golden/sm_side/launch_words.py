"""Cycle model of LaunchWords: launch words by stream."""

from collections.abc import Mapping

from warploom_spec.config import Config


class LaunchWords:
    """Cycle model of LaunchWords.

    Ports and rules: ``docs/sm_side/offer_queue.md``.

    Parameters
    ----------
    config : Config
        Widths.
    readers : int, optional
        Words that can be read at once.
    """

    def __init__(self, config: Config, readers: int = 1):
        del config
        self._readers = range(readers)
        self.reset()

    def reset(self) -> None:
        """Forget all words."""
        self._words: dict[int, int] = {}

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the words that are asked for, None before the stream's first offer."""
        return {f"told__{k}": self._words.get(inputs[f"asked__{k}"]) for k in self._readers}

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        if inputs["offer"]:
            self._words[inputs["stream"]] = inputs["words"]
