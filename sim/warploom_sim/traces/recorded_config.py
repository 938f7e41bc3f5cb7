"""The recorded GPU as a configuration: `--config recorded`."""

from warploom_golden.replay.model_config import ModelConfig
from warploom_sim.traces.devices import Device
from warploom_sim.traces.trace_file import Place
from warploom_sim.traces.trace_reader import Trace
from warploom_spec import Config, WarploomError
from warploom_spec.launch import REGISTER_UNIT, SHARED_UNIT_BYTES


def recorded_device(trace: Trace) -> Device:
    """Return the GPU that a trace's kernels ran on.

    Raises
    ------
    WarploomError
        If they ran on several.
    """
    numbers = sorted({launch.device for launch in trace.launches})
    if len(numbers) > 1:
        raise Place(trace.path).refuse(
            f"the trace's kernels ran on devices {', '.join(map(str, numbers))}; legal with"
            " --config recorded: one (choose it with --device)"
        )
    return trace.devices[numbers[0]]


def recorded_config(trace: Trace, *, built: bool = False) -> Config:
    """Return the GPU that a trace's kernels ran on as a configuration.

    All that is not of an SM is that of the preset ``default``.

    Parameters
    ----------
    trace : Trace
        A trace of one GPU.
    built : bool
        Whether hardware is to be built of it. Else it has the limits of the event model.

    Raises
    ------
    WarploomError
        If the kernels ran on several GPUs, or the GPU is beyond those limits.
    """
    device = recorded_device(trace)
    kind = Config if built else ModelConfig
    try:
        return kind(
            sms=device.sms,
            warp_size=device.warp_size,
            block_slots=device.block_slots,
            warp_slots=device.warp_slots,
            register_units=device.registers // REGISTER_UNIT,
            shared_units=device.shared_bytes // SHARED_UNIT_BYTES,
            barriers=device.barriers,
        )
    except WarploomError as error:
        of = "the hardware" if built else "the event model"
        raise Place(trace.path).refuse(
            f"the recorded {device.name} is more than {of} takes: {error}"
        ) from error
