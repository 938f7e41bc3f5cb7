"""Models of IndexPacker (a cycle model) and IndexUnpacker."""

from collections.abc import Mapping

from warploom_golden.index.lanes import spread
from warploom_golden.oracles.index_reference import unpack
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.timing import timing


class IndexPacker:
    """Cycle model of IndexPacker: one register stage that clears the lanes that are no threads.

    Ports and rules: ``docs/index/index_packer.md``.

    Parameters
    ----------
    config : Config
        Warp size, word bits, widths.
    """

    def __init__(self, config: Config):
        assert timing(config).packer == 1, "this model has one stage"
        self._config = config
        self._input = layouts.index_lanes(config)
        self._output = layouts.packed_warp(config)
        self.reset()

    def reset(self) -> None:
        """Empty the stage."""
        self._packed: int | None = None

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        return {
            "i__ready": int(self._moves(inputs)),
            "o__payload": self._packed,
            "o__valid": int(self._packed is not None),
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        if self._moves(inputs):
            self._packed = self._pack(inputs["i__payload"]) if inputs["i__valid"] else None

    def _moves(self, inputs: Mapping[str, int]) -> bool:
        return self._packed is None or bool(inputs["o__ready"])

    def _pack(self, payload: int) -> int:
        fields = self._input.unpack(payload)
        valid = spread(fields["mask"], self._config.word_bits, self._config.warp_size)
        return self._output.pack({"words": fields.pop("lanes") & valid} | fields)


class IndexUnpacker:
    """Model of IndexUnpacker: combinational, ``index`` is ``word`` taken apart by the widths.

    Parameters
    ----------
    config : Config
        Word bits.
    """

    def __init__(self, config: Config):
        self._output = layouts.thread_index(config)

    def reset(self) -> None:
        """Do nothing: there is no state."""

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        bits = inputs["width_x"], inputs["width_y"], inputs["width_z"]
        x, y, z = unpack(inputs["word"], bits)
        return {"index": self._output.pack({"x": x, "y": y, "z": z})}

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Do nothing: there is no state."""
