"""Stream rules, checked at the ports without the model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from warploom_sim.cosim.lockstep.ports import Stream


class StreamWatch:
    """Watch one stream: a refused transfer stands unchanged, and transfers are counted.

    Parameters
    ----------
    stream : Stream
        What to watch.

    Attributes
    ----------
    exempt : bool
        Whether refused transfers may be withdrawn or changed.
    transfers : int
        Transfers so far; one in a cycle with reset is none.
    """

    def __init__(self, stream: Stream):
        self.stream = stream
        self.transfers = 0
        self.exempt = False
        self._stalled: int | None = None

    def see(self, inputs: Mapping[str, int], outputs: Mapping[str, int], rst: int) -> str | None:
        """Take in one cycle; return the broken rule, or None."""
        stream = self.stream
        source, sink = (inputs, outputs) if stream.is_input else (outputs, inputs)
        valid = 1 if stream.valid is None else source[stream.valid]
        ready = 1 if stream.ready is None else sink[stream.ready]
        broken = None
        if self._stalled is not None:
            payload = source[stream.payload]
            if valid != 1:
                broken = f"{stream.valid} dropped while stalled"
            elif payload != self._stalled:
                broken = (
                    f"{stream.payload} changed while stalled:"
                    f" got {payload:#x}, want {self._stalled:#x}"
                )
        self._stalled = None
        if valid == 1 and not rst:
            if ready == 1:
                self.transfers += 1
            elif not self.exempt:
                self._stalled = source[stream.payload]
        return broken


class StreamWatches:
    """Watch all streams of a component, inputs (the stimulus) and outputs (the RTL) alike.

    Parameters
    ----------
    streams : iterable of Stream
        What to watch.
    """

    def __init__(self, streams: Iterable[Stream]):
        self._watches = [StreamWatch(stream) for stream in streams]

    def exempt(self, names: Collection[str]) -> None:
        """Allow withdrawal on these streams.

        Raises
        ------
        ValueError
            If a name is no stream.
        """
        unknown = set(names) - {watch.stream.name for watch in self._watches}
        if unknown:
            raise ValueError(f"withdrawable names no stream: {sorted(unknown)}")
        for watch in self._watches:
            watch.exempt = watch.stream.name in names

    def see(self, inputs: Mapping[str, int], outputs: Mapping[str, int], rst: int) -> list[str]:
        """Take in one cycle; return the broken rules."""
        broken = []
        for watch in self._watches:
            rule = watch.see(inputs, outputs, rst)
            if rule is not None:
                broken.append(("stimulus: " if watch.stream.is_input else "") + rule)
        return broken

    def transfers(self) -> dict[str, int]:
        """Return the transfers of each stream."""
        return {watch.stream.name: watch.transfers for watch in self._watches}
