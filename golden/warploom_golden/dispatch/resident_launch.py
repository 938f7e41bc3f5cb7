"""A resident launch and its blocks, as BlockDispatcher's cycle model keeps them."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_golden.dispatch.amounts import Amounts
from warploom_golden.dispatch.grid_walker import Walk
from warploom_spec import resident_packets
from warploom_spec.config import Config


@dataclass(eq=False, slots=True)
class ResidentLaunch:
    """A launch from its start to its transfer at `ended`.

    Attributes
    ----------
    stream, priority, entry : int
        As `start` brought them.
    waits : bool
        Whether its mode is `wait`.
    needs : int
        Packed `Amounts` of one block.
    order : int
        How many launches started before it since the reset.
    walk : Walk or None
        Its next block; None after the last one.
    words : int
        What each of its blocks says: a packed ``resident_block`` of slot, position and number 0.
    picked : bool
        Whether its first block was picked.
    out : int
        Its blocks that are out, in the sense of rule 5.
    first_offer, last_return : int
        The clock at its first block's offer and at its last return (30).
    """

    stream: int
    priority: int
    entry: int
    waits: bool
    needs: int
    order: int
    walk: Walk | None
    words: int
    picked: bool = False
    out: int = 0
    first_offer: int = 0
    last_return: int = 0


@dataclass(eq=False, slots=True)
class ResidentBlock:
    """A block from its pick on.

    Attributes
    ----------
    launch : ResidentLaunch
        Whose it is.
    sm, slot : int
        Where it runs.
    words : int
        Packed ``resident_block``.
    offered : int
        Cycle of its offer.
    first, last : bool
        Whether it is its launch's first or last block.
    returned : int or None
        Cycle in which its report's books were written, or those of the sweep that returned it.
    """

    launch: ResidentLaunch
    sm: int
    slot: int
    words: int
    offered: int
    first: bool
    last: bool
    returned: int | None = None


class LaunchMaker:
    """Makes launches of what `start` brings, and blocks of launches.

    Parameters
    ----------
    config : Config
        Widths.
    amounts : Amounts
        Packs what a block takes.
    first_number : int
        Number of each launch's first block.
    """

    def __init__(self, config: Config, amounts: Amounts, first_number: int):
        self._start = resident_packets.resident_start(config)
        self._block = resident_packets.resident_block(config)
        self._amounts = amounts
        self._first_number = first_number
        self._started = 0
        offsets = self._block.offsets
        self._slot, self._number = offsets["slot"], offsets["block_number"]
        self._bx, self._by, self._bz = offsets["bx"], offsets["by"], offsets["bz"]

    def launch(self, payload: int) -> ResidentLaunch:
        """Return the launch that a transfer at `start` brings (3)."""
        fields = self._start.unpack(payload)
        self._started += 1
        return ResidentLaunch(
            stream=fields["stream"],
            priority=fields["priority"],
            entry=fields["entry"],
            waits=bool(fields["wait_mode"]),
            needs=self._amounts.pack(fields | {"slots": 1}),
            order=self._started,
            walk=Walk((fields["gx"], fields["gy"], fields["gz"]), (0, 0, 0), self._first_number),
            words=self._words(fields),
        )

    def _words(self, fields: Mapping[str, int]) -> int:
        own = dict.fromkeys((field.name for field in self._block.fields), 0)
        same = "stream", "index_address", "entry", "warps"
        return self._block.pack(own | {name: fields[name] for name in same})

    def block(self, launch: ResidentLaunch, sm: int, slot: int, offered: int) -> ResidentBlock:
        """Return a launch's next block, and let the block after it be the next (15, 21)."""
        walk = launch.walk
        assert walk is not None
        bx, by, bz = walk.block
        position = bx << self._bx | by << self._by | bz << self._bz
        words = launch.words | slot << self._slot | position | walk.number << self._number
        launch.walk = walk.following()
        first, launch.picked = not launch.picked, True
        return ResidentBlock(launch, sm, slot, words, offered, first, launch.walk is None)
