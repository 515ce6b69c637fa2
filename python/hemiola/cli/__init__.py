"""The command line: one file per command, one place that turns errors into one line and an exit code.

Exit codes: 0 done; 1 the answer is no (a wrong schedule, a wrong element, a lost rank); 2 the user's mistake;
130 Ctrl-C."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Collection, Sequence
from typing import Annotated

import typer

import hemiola
from hemiola.cli.output import printable
from hemiola.errors import (
    ArgumentError,
    FailedRankError,
    FormatError,
    HemiolaError,
    InternalError,
    MismatchError,
)

# Typer's usage errors have a common base that Typer does not export under a stable name.
_UsageError: type[Exception] = typer.BadParameter.__mro__[2]

_INTERRUPTED = 130

#: In the order of the help, each with its line there; each is a module of that name with a function of that name, or a
#: Typer `app`.
COMMANDS = {
    "run": "Run a collective on local processes, check every element on every rank, and time it.",
    "bench": "Time a collective over a range of sizes, out of place and in place, in the columns of nccl-tests.",
    "plan": "Choose the schedule for a collective on a topology, and say why.",
    "synthesize": "Make a schedule for exactly this network, by matching chunks to links or another way.",
    "simulate": "Simulate a schedule on a topology: when each rank is done, and which links are busy.",
    "verify": "Prove that schedules are right, or say where they break.",
    "view": "Look at a schedule as chunks by steps, or at measured and predicted times as bars.",
    "topology": "Show, convert and draw networks.",
    "reproduce": "Regenerate a paper's tables and figures, each beside Hemiola's schedule and the lower bound.",
    "doctor": "Say what this machine offers Hemiola, and what to do about what is not there.",
    "diagnose": "Start ranks, have them compute and all-reduce for some seconds, and say what slows them.",
    "trace": "Merge what PyTorch's ranks have written of their latest operations into one trace for Perfetto.",
    "accelerate": "Compile what takes the operations of PyTorch's groups to the engine without Python in between.",
    "calibrate": "Measure the links between the ranks of a running job: latency, bandwidth, cost of a message, "
    "shared NICs.",
    "launch": "Start a program on several ranks, which 'hemiola.init()' joins, and end all when one fails or "
    "with Ctrl-C.",
    "cluster": "Hosts on this machine, with NICs of a limited rate.",
}


def make_app(commands: Collection[str] = tuple(COMMANDS)) -> typer.Typer:
    """Put together the application; only the named commands are imported, because some of them need much.

    Parameters
    ----------
    commands : names out of COMMANDS; the others only stand in the help.

    Returns
    -------
    typer.Typer
    """
    app = typer.Typer(
        name="hemiola",
        help="Collective communication for clusters that don't keep time.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_show_help)
    for name, line in COMMANDS.items():
        if name not in commands:
            app.command(name, help=line)(_show_help)
            continue
        module = importlib.import_module(f"hemiola.cli.{name}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name)
        else:
            app.command(context_settings=getattr(module, "CONTEXT", None))(getattr(module, name))
    return app


def _show_help(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print Hemiola's version.")] = False,
) -> None:
    if version:
        typer.echo(f"hemiola {hemiola.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, default the process's own arguments.

    Returns
    -------
    int, the exit code (see the module's docstring).
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        app = make_app([word for word in words if word in COMMANDS][:1])
        result = app(args=words, standalone_mode=False)
        sys.stdout.flush()
        if result == _INTERRUPTED:  # how Typer hands on a Ctrl-C
            return _fail("interrupted", _INTERRUPTED)
        return result if isinstance(result, int) else 0
    except InternalError:
        raise  # a bug of ours: the traceback is what the report needs
    except HemiolaError as error:
        return _fail(*_line_and_code(error))
    except _UsageError as error:
        return _fail(f"{error.format_message().rstrip('.')}. Try 'hemiola --help'.", 2)  # type: ignore[attr-defined]
    except BrokenPipeError:
        # The reader of our output has gone; leave nothing for the interpreter to flush into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"'{error.filename}': " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}", 2)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", _INTERRUPTED)


def _line_and_code(error: HemiolaError) -> tuple[str, int]:
    """Return what to say about an error, and the exit code; a failed rank's own error counts."""
    if isinstance(error, FailedRankError) and isinstance(error.__cause__, HemiolaError):
        line, code = _line_and_code(error.__cause__)
        return f"rank {error.rank}: {line}", code
    return str(error), 2 if isinstance(error, ArgumentError | FormatError | MismatchError) else 1


def _fail(message: str, code: int) -> int:
    line = " ".join(printable(message).split())
    print(f"hemiola: {line}", file=sys.stderr)
    return code
