"""A program's groups as what a host does with the driver: loops of templates, or launches alone."""

from dataclasses import replace
from math import prod

from tb.deferral.expanded import Heap
from warploom_golden.deferral.calls import Call, Constant
from warploom_golden.deferral.commands import Commands, to_commands
from warploom_golden.deferral.kernel_store import NUMBER_SIZES, KernelStore
from warploom_spec.host_commands import (
    FIRST_RELATIVE_FLAG,
    TASK_WORDS,
    WAIT_WORDS,
    loop_words,
    template_words,
)

#: Bytes of the words that a structure by value is sent as.
_WORD = 8
#: The words of a launch that the driver writes by itself, and what T11 says.
_NOT_FIELDS = ("opcode", "flags", "parameter", "changes", "alternates")


class DriverSteps:
    """What a host does for each group, as JSON, and the parameter blocks that it writes before.

    Parameters
    ----------
    store : KernelStore
        The program's kernels.
    config : Config
        The core's.

    Attributes
    ----------
    steps : list of dict
        ``templates`` with ``count``, ``in_flight`` and ``blocks``, or ``launches``; each launch as
        `program_tour` takes it.
    memory : dict
        Bytes of the blocks by their addresses.
    reasons : set of Reason
        Why groups of several iterations are sent launch by launch.
    """

    def __init__(self, store, config):
        self._config, self._heap = config, Heap()
        self.store = _in_words(store)
        self.steps, self.memory, self.reasons = [], {}, set()
        self._first_store = store

    def add(self, group, calls):
        """Add a group, of which these are the calls."""
        found = to_commands(group, self._first_store, self._config, self._heap)
        if isinstance(found, Commands):
            loop = loop_words(self._config).unpack(found.loop)
            names = ("count", "in_flight")
            step = {"templates": self._launches(found)} | {name: loop[name] for name in names}
            # Grids may step: the calls say how many blocks there are.
            step["blocks"] = sum(prod(values[:3]) for _, *values in calls)
            self.steps.append(step)
            return
        self.reasons |= {found.reason} if group.count > 1 else set()
        launches = []
        for name, *values in map(self.call, calls):
            arguments = tuple(map(Constant, values))
            alone = replace(group, count=1, calls=(Call(name, arguments),))
            launches += self._launches(to_commands(alone, self.store, self._config, self._heap))
        self.steps.append({"launches": launches})

    def call(self, call):
        """Return a call with its structures as words of 8 bytes, each value in its own bits."""
        name, *values = call
        made = values[:8]
        for value, size in zip(values[8:], self._first_store.kernels[name].parameters, strict=True):
            number = int.from_bytes(value, "little") if isinstance(value, bytes) else value
            if size in NUMBER_SIZES:
                made.append(number & (1 << 8 * size) - 1)
            else:
                words = range(0, 8 * size, 8 * _WORD)
                made += [number >> bit & (1 << 8 * _WORD) - 1 for bit in words]
        return name, *made

    def _launches(self, commands):
        self.memory |= {block.address: block.data for block in commands.blocks}
        return [launch_of_words(words, self._config) for words in commands.templates]


def _in_words(store):
    """Return a store whose kernels take structures as words of 8 bytes."""
    kernels = {}
    for name, kernel in store.kernels.items():
        sizes = []
        for size in kernel.parameters:
            assert size in NUMBER_SIZES or size % _WORD == 0
            sizes += [size] if size in NUMBER_SIZES else [_WORD] * (size // _WORD)
        kernels[name] = replace(kernel, parameters=tuple(sizes))
    return KernelStore(kernels=kernels, streams=store.streams)


def launch_of_words(words, config):
    """Return a template's 64 words as the driver takes them."""
    layout = template_words(config)
    first, second = (layout.unpack(words[at : at + TASK_WORDS]) for at in (0, TASK_WORDS))
    waits, kept = [], {}
    for name, value in first.items():
        if name.startswith("wait"):
            continue
        if name not in _NOT_FIELDS and not name.startswith("inline"):
            kept[name] = value
    for k in range(WAIT_WORDS):
        if first["flags"] >> k & 1:
            assert first["flags"] >> FIRST_RELATIVE_FLAG + k & 1
            waits.append([first[f"wait{k}_stream"], first[f"wait{k}_count"]])
    changed = {kind: {} for kind in ("steps", "alternates")}
    named = ["gx", "grid_yz", "arguments", *range(config.inline_args)]
    for number, name in enumerate(named):
        if not first["changes"] >> number & 1:
            continue
        kind = changed["alternates" if first["alternates"] >> number & 1 else "steps"]
        if name == "grid_yz":
            kind[name] = [second["gy"], second["gz"]]
        elif isinstance(name, int):
            kind.setdefault("inline", {})[name] = second[f"inline{name}"]
        else:
            kind[name] = second[name]
    inline = [first[f"inline{k}"] for k in range(config.inline_args)]
    return {"fields": kept, "inline": inline, "waits": waits, **changed}
