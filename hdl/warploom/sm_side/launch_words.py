"""Keeps the launch words of each stream's resident launch."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.rows import Rows
from warploom_spec import Config, layouts


class LaunchWords(wiring.Component):
    """Keep launch words by stream, from the bus of offers.

    Each field is a memory of its own: one that is not read costs nothing.

    Parameters
    ----------
    config : Config
        The front end's.
    readers : int, optional
        Words that can be read at once.
    """

    offer: Signal
    stream: Signal
    words: Any
    asked: Any
    told: Any

    def __init__(self, config: Config, readers: int = 1) -> None:
        self._config = config
        words = layouts.launch_words(config).layout()
        super().__init__(
            {
                # A pulse: the words of this stream's launch, as at the SM's port.
                "offer": In(1),
                "stream": In(config.stream_bits),
                "words": In(words),
                # Words of these streams, in the same cycle.
                "asked": In(config.stream_bits).array(readers),
                "told": Out(words).array(readers),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        for name, shape in self.words.shape().members.items():
            rows = Rows(m, name, shape, 1 << self._config.stream_bits)
            rows.write(self.offer, self.stream, self.words[name])
            for asked, told in zip(self.asked, self.told, strict=True):
                m.d.comb += told[name].eq(rows.now(asked))
        return m
