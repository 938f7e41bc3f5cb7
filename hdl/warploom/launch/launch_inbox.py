"""The inbox of KernelQueue, and the launches' bodies by entry in block memory."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.rows import Rows
from warploom_spec import Config, layouts
from warploom_spec.errors import ERROR_CODE_BITS
from warploom_spec.resident_packets import resident_entry_bits, resident_launch, resident_plan


def tag_layout(config: Config) -> data.StructLayout:
    """Return what is kept of each launch for its end, where there are loops."""
    return data.StructLayout({"loop": config.loop_sections.bit_length(), "quiet": 1})


class LaunchInbox(wiring.Component):
    """Take one launch behind LaunchCheck, write its body, and hold what its ACCEPT asks.

    Rules 4 and 30 of ``docs/launch/kernel_queue.md``. A launch is taken in the second cycle in
    which it stands at ``checked``: its entry is looked up in the first one.

    Parameters
    ----------
    config : Config
        Widths.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        entry = resident_entry_bits(config)
        # A launch's tag, a cycle after its entry. A register.
        tags: dict[str, Any] = {}
        if config.has_loops:
            tags = {"tag_entry": In(entry), "tag": Out(tag_layout(config))}
        super().__init__(
            {
                # What leaves LaunchCheck; the next ticket.
                "checked": In(stream.Signature(resident_launch(config).layout())),
                "ticket": In(layouts.TICKET_BITS),
                # The free entry of its priority: asked for, known a cycle later.
                "looks": Out(1),
                "free_entry": In(entry),
                # A launch comes; its ACCEPT has its last step.
                "comes": Out(1),
                "accepted": In(1),
                # The launch in the inbox. Registers.
                "full": Out(1),
                "entry": Out(entry),
                "stream": Out(config.stream_bits),
                "priority": Out(config.priority_bits),
                "error": Out(ERROR_CODE_BITS),
                "argument": Out(layouts.ARGUMENT_BITS),
                # A launch's words, two cycles after its entry; its plan, a cycle after.
                "fetch": In(entry),
                "words": Out(layouts.launch_words(config).layout()),
                "plan_entry": In(entry),
                "plan": Out(resident_plan(config).layout()),
                **tags,
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        checked = ports.checked
        launch, known = checked.payload, Signal(name="known")
        m.d.comb += [
            ports.looks.eq(checked.valid & ~ports.full & ~known),
            checked.ready.eq(known),
            ports.comes.eq(checked.valid & known),
        ]
        m.d.sync += [
            known.eq(ports.looks),
            ports.full.eq((ports.full | ports.comes) & ~ports.accepted),
        ]
        with m.If(ports.comes):
            m.d.sync += [
                ports.entry.eq(ports.free_entry),
                *(
                    getattr(ports, name).eq(launch[name])
                    for name in ("stream", "priority", "error", "argument")
                ),
            ]
        if self._config.has_loops:
            tags = Rows(m, "tags", tag_layout(self._config).size, 1 << len(ports.entry))
            tags.write(ports.comes, ports.free_entry, Cat(launch.loop, launch.quiet))
            m.d.sync += ports.tag.as_value().eq(tags.now(ports.tag_entry))
        body = {"ticket": ports.ticket}
        out = {}
        reads = {
            "words": (layouts.launch_words, ports.fetch),
            "plan": (resident_plan, ports.plan_entry),
        }
        for name, (packet, address) in reads.items():
            fields = [field.name for field in packet(self._config).present]
            bits = Cat(body[field] if field in body else launch[field] for field in fields)
            memory = Rows(m, name, len(bits), 1 << len(ports.fetch), block=True)
            memory.write(ports.comes, ports.free_entry, bits)
            out[name] = memory.later(address)
        # No gate stands behind a block memory.
        words: Signal = Signal(len(out["words"]), name="words_read", reset_less=True)
        m.d.sync += words.eq(out["words"])
        m.d.comb += [ports.words.as_value().eq(words), ports.plan.as_value().eq(out["plan"])]
        return m
