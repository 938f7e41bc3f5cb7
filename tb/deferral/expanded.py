"""The launches of a group's commands, read back from words and memory."""

from dataclasses import dataclass

from warploom_golden.deferral.loop_expansion import expand
from warploom_spec.host_commands import launch_words


class Heap:
    """Memory for parameter blocks."""

    def __init__(self, start=0x7F00_0000_0000, size=1 << 40):
        self.next, self._end = start, start + size

    def take(self, size, align):
        address = -(-self.next // align) * align
        if address + size > self._end:
            return None
        self.next = address + size
        return address


@dataclass(frozen=True)
class Launched:
    """One launch as an SM would get it."""

    fields: dict
    kernel: str
    values: tuple

    def call(self, store):
        """Return the CUDA call: the kernel, its configuration, its parameters."""
        dims = [self.fields[name] for name in ("gx", "gy", "gz", "dx", "dy", "dz")]
        (stream,) = [h for h, s in store.streams.items() if s.number == self.fields["stream"]]
        # The descriptor has the block's shared memory with the kernel's own and what is reserved.
        shared = 128 * self.fields["shared"] - store.kernels[self.kernel].shared_bytes - 1024
        return self.kernel, [*dims, shared, stream, *self.values]

    def pairs(self):
        """Yield the streams that it waits for, and how many launches before the latest."""
        for k in range(4):
            valid, relative = (self.fields["flags"] >> bit + k & 1 for bit in (0, 4))
            assert valid == relative
            if valid:
                yield self.fields[f"wait{k}_stream"], self.fields[f"wait{k}_count"]


def launched(commands, store, config):
    """Yield the launches of a group's commands."""
    memory = {b.address: b.data for b in commands.blocks}
    layout = launch_words(config)
    for words in expand(commands.templates, commands.loop):
        yield read_launch(layout.unpack(words), memory, store, config)


def read_launch(fields, memory, store, config):
    """Return a launch whose parameters stand in inline words, or in a block of the memory.

    Parameters
    ----------
    fields : dict
        The launch's.
    memory : dict
        Bytes by the address at which they begin.
    store : KernelStore
        Knows the kernel of its code pointer, and its parameters.
    config : Config
        The core's.
    """
    (kernel,) = [name for name, known in store.kernels.items() if known.code == fields["code"]]
    sizes = store.kernels[kernel].parameters
    if len(sizes) > config.inline_args:
        values = _from_memory(memory, fields["arguments"], sizes)
    else:
        values = [fields[f"inline{k}"] for k in range(len(sizes))]
    masked = (v & (1 << 8 * size) - 1 for v, size in zip(values, sizes, strict=True))
    return Launched(fields, kernel, tuple(masked))


def _from_memory(memory, address, sizes):
    """Read a kernel's parameters as a compiler lays them out: each at a multiple of its size."""
    (start,) = [a for a, data in memory.items() if a <= address < a + len(data)]
    data, values = memory[start], []
    place = address - start
    assert address % max(sizes) == 0
    for size in sizes:
        place += -place % size
        values.append(int.from_bytes(data[place : place + size], "little"))
        place += size
    assert place <= len(data)
    return values
