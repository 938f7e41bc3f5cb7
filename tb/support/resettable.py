"""A component, or its model, with its reset as one more port: ``reset_now``."""

from typing import Any

from amaranth.hdl import Module, ResetInserter
from amaranth.lib import wiring

from warploom_sim.cosim.lockstep import Model


class ResettableComponent(wiring.Component):
    """A component whose reset is its port ``reset_now``, for one cycle or longer."""

    def __init__(self, inner: wiring.Component):
        self._inner = inner
        super().__init__({**inner.signature.members, "reset_now": wiring.In(1)})

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        m.submodules.inner = ResetInserter(self.reset_now)(self._inner)
        for path, member, port in self._inner.signature.flatten(self._inner):
            outer: Any = self
            for step in path:
                outer = outer[step] if isinstance(step, int) else getattr(outer, step)
            m.d.comb += port.eq(outer) if member.flow is wiring.In else outer.eq(port)
        return m


class ResettableModel:
    """A model with the same port: a reset gives it the state after one."""

    def __init__(self, inner: Model):
        self._inner = inner

    def outputs(self, inputs: dict[str, int]) -> Any:
        """Return the model's outputs."""
        return self._inner.outputs(inputs)

    def tick(self, inputs: dict[str, int]) -> None:
        """Go on by a cycle; then, with ``reset_now``, begin anew."""
        self._inner.tick(inputs)
        if inputs["reset_now"]:
            self._inner.reset()


def resettable(inner: Any) -> Any:
    """Return a component or a model with the port ``reset_now``."""
    kind = ResettableComponent if isinstance(inner, wiring.Component) else ResettableModel
    return kind(inner)
