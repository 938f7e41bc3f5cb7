"""The ``warploom`` command."""

import signal
import sys
from types import FrameType
from typing import Any

import click

from warploom_sim.commands.compare import compare
from warploom_sim.commands.defer import defer
from warploom_sim.commands.map import register_map
from warploom_sim.commands.merge import merge
from warploom_sim.commands.preempt import preempt
from warploom_sim.commands.run import run
from warploom_sim.commands.silicon import silicon
from warploom_sim.commands.sim import sim
from warploom_sim.commands.steal import steal
from warploom_sim.commands.trace import trace
from warploom_sim.commands.verilog import verilog
from warploom_sim.failure import STOP_SIGNALS, ProgramError
from warploom_sim.standard_streams import finish_output, prepare_streams
from warploom_spec import WarploomError

#: Exit code of everything that is refused, as click has it for a wrong option.
REFUSED = 2
#: Exit code when a program that is needed fails, or a file cannot be written.
FAILED = 3
#: Exit code after Ctrl-C, as shells have it.
INTERRUPTED = 130


class CommandGroup(click.Group):
    """Commands that end with words and an exit code of their own, never with a traceback."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command that the process was started for."""
        prepare_streams()
        try:
            try:
                return super().main(*arguments, **options)
            finally:
                finish_output()
        except OSError as error:  # what click itself prints, as a help; and what was not written
            click.echo(f"Error: {error}", err=True)
            sys.exit(FAILED)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; end with the exit code of what it raises."""
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # as a shell's background job ignores Ctrl-C
                signal.signal(number, _interrupt)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            click.echo("Interrupted" + (f"; {error}" if error.args else "."), err=True)
            sys.exit(INTERRUPTED)
        except click.exceptions.NoArgsIsHelpError:  # the help itself
            raise
        except click.UsageError as error:
            click.echo(f"Error: {' '.join(error.format_message().split())}", err=True)
            sys.exit(REFUSED)
        except (ProgramError, OSError) as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(FAILED)
        except WarploomError as error:
            click.echo(f"Error: {' '.join(str(error).split())}", err=True)
            sys.exit(REFUSED)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End the command: child processes end, unfinished files and folders go.

    Signals that follow are ignored while that goes on: a second Ctrl-C does not break off what the
    first one began. Python drops what is raised while it clears up an object; the next one counts.
    """
    del number, frame
    error = sys.exception()
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    if error is None:
        raise KeyboardInterrupt


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="warploom")
def main() -> None:
    """Replay GPU kernel-launch traces through Warploom's RTL, and generate its Verilog.

    \b
    Examples:
      warploom sim                            the recorded traces, default configuration
      warploom sim mine.json.gz --json r.json your own trace, figures to a file
      warploom compare mine.json.gz --policy first_fit,least_loaded
                                              policies side by side, with a plot
      warploom trace info mine.json.gz        what a trace holds
      warploom verilog --config large         Verilog of every block
      warploom map --config default           registers as a C header and SystemRDL
      warploom steal merge_sort --workers 8   work stealing in front of execution units
      warploom run kernel.elf --grid 4,1,1 --block 96,1,1
                                              a compiled kernel behind the front end
      warploom silicon                        a real GPU's dispatching beside the model's
      warploom defer program                  loops of a CUDA program that can be deferred
    """


main.add_command(compare)
main.add_command(defer)
main.add_command(register_map)
main.add_command(merge)
main.add_command(preempt)
main.add_command(run)
main.add_command(silicon)
main.add_command(sim)
main.add_command(steal)
main.add_command(trace)
main.add_command(verilog)

if __name__ == "__main__":
    main(prog_name="warploom")
