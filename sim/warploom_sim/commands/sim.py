"""``warploom sim``: replay traces through the RTL."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from warploom_sim.commands.parameters import TRACE_FILE, refuse_overwriting, refuse_same
from warploom_sim.commands.request_options import given_options, request_options
from warploom_sim.cosim.simulators import require
from warploom_sim.replay.request import ReplayRequest, requested
from warploom_sim.replay.request_fields import Surface, new_files, options
from warploom_spec import WarploomError

#: Replayed when none is named: one network's inference, and blocks of three dimensions.
DEFAULT_TRACES: Final = ("resnet50_infer.json.gz", "stencil3d_shapes.json.gz")

#: Options whose file shows replays; without a named trace it shows the first recording alone.
VIEWS: Final = ("timeline", "report")


@click.command()
@click.argument("traces", metavar="[TRACE]...", nargs=-1, type=TRACE_FILE)
@request_options(Surface.SIM)
def sim(traces: tuple[Path, ...], **values: Any) -> None:
    """Replay kernel-launch traces through the RTL and compare it with the golden models.

    A trace is what the PyTorch profiler writes (Chrome trace JSON, plain or gzip). Without one the
    repository's resnet50_infer and stencil3d_shapes are replayed; with --timeline or --report the
    first of them alone.

    The exit code is 0 if all was equal, 1 if something differed or the core refused every launch, 2
    if the input was refused, 3 if a program that is needed failed or a file could not be written.

    \b
    Examples:
      warploom sim
      warploom sim --sim icarus --launches 20
      warploom sim mine.json.gz --config large --policy least_loaded --json report.json
      warploom sim --kill-every 3 --launches 30
      warploom sim mine.json.gz --timeline run.pftrace --report run.html
      warploom sim mine.json.gz --set sms=4 --set block_slots=16 --launches-csv launches.csv
      warploom sim mine.json.gz --waves --wave-cycles 20000:21000
      warploom sim mine.json.gz --knee 8
      warploom sim mine.json.gz --contention none
      warploom sim mine.json.gz --arrivals trace
      warploom sim --host axi
    """
    given = given_options(values)
    request = requested(Surface.SIM, traces or _unnamed_traces(given), given)
    outputs = new_files(request)
    for name, path in outputs.items():
        refuse_overwriting(path, request.traces, options(ReplayRequest)[name].flag)
    refuse_same(**outputs)
    assert request.simulator
    require(request.simulator)
    # The replay pulls in Amaranth and NumPy: --help and refusals need neither.
    from warploom_sim.commands import sim_run

    sys.exit(sim_run.run(request))


def _unnamed_traces(given: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return what is replayed when no trace is named: the recordings, for a view the first one."""
    views = [options(ReplayRequest)[name].flag for name in VIEWS if name in given]
    found = default_traces()
    if not views:
        return found
    first = found[0]
    click.echo(f"no trace named: {', '.join(views)} shows {first.name} alone", err=True)
    return (first,)


def default_traces() -> tuple[Path, ...]:
    """Return the repository's traces that are replayed when none is named.

    Raises
    ------
    WarploomError
        If this is an installed package: the recordings are the repository's.
    """
    folder = Path(__file__).parents[3] / "traces"
    found = tuple(folder / name for name in DEFAULT_TRACES)
    if not all(path.is_file() for path in found):
        raise WarploomError(
            f"no trace named, and the recordings ({', '.join(DEFAULT_TRACES)}) come with the"
            " repository, not with the package; name one: warploom sim FILE"
        )
    return found
