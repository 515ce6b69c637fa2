# SPDX-License-Identifier: Apache-2.0
"""The command line: one file per command, one place that turns errors into one line and an exit code."""

from __future__ import annotations

import errno
import importlib
import mmap
import sys
import threading
import traceback
from collections.abc import Collection, Sequence
from typing import Annotated

import typer

import hemiola
from hemiola.cli import exit_codes, streams
from hemiola.cli.output import name_command, printable
from hemiola.errors import (
    ArgumentError,
    FailedRankError,
    FormatError,
    HemiolaError,
    InternalError,
    MismatchError,
    MissingPackageError,
)

# Typer's usage errors have a common base that Typer does not export under a stable name.
_UsageError: type[Exception] = typer.BadParameter.__mro__[2]

#: What a command's libraries add to the address space, measured with 'VmPeak', and a tenth more.
_COMMAND_BYTES = 165 << 20

#: Where such an error names no file, it concerns the output.
_OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

#: By the help's sections, each command with its line there; each is a module of that name with a function of that name,
#: or a Typer `app`.
SECTIONS = {
    "Run": {
        "run": "Run a collective on local processes, check every element on every rank, and time it.",
        "bench": "Time a collective over a range of sizes, out of place and in place, in the columns of nccl-tests.",
    },
    "Plan": {
        "plan": "Choose the schedule for a collective on a topology, and say why.",
        "synthesize": "Make a schedule for exactly this network, by matching chunks to links or another way.",
        "simulate": "Simulate a schedule on a topology: when each rank is done, and which links are busy.",
        "sweep": "Predict a collective's time for several topologies, sizes and algorithms, beside the lower bound.",
        "whatif": "Predict a training step: computation, hidden and exposed communication, and the gain over other "
        "libraries.",
        "verify": "Prove that schedules are right, or name their faults.",
        "export": "Write a schedule in the format of another program.",
    },
    "Look": {
        "view": "Look at a schedule as chunks by steps, at times measured and predicted, or at a job's records.",
        "topology": "Show, convert and draw networks.",
    },
    "Job": {
        "launch": "Start a program on several ranks, which 'hemiola.init()' joins, and end all when one fails or "
        "with Ctrl-C.",
        "calibrate": "Measure the links between the ranks of a running job: latency, bandwidth, cost of a message, "
        "shared NICs.",
        "diagnose": "Have ranks compute and all-reduce for some seconds, and find the cause that slows them.",
        "status": "Show a running job of this machine: its members, and who came, left or was lost, when and why.",
        "trace": "Merge the latest operations that PyTorch's ranks have recorded into one trace for Perfetto.",
    },
    "Tools": {
        "doctor": "Show this machine's resources for Hemiola, and how to get the missing ones.",
        "cluster": "Hosts on this machine, with NICs of a limited rate.",
        "accelerate": "Compile a direct path from PyTorch's groups to the engine, without Python in between.",
        "completion": "Print a script with which bash, zsh or fish completes commands, options and names.",
    },
}
COMMANDS = {name: line for section in SECTIONS.values() for name, line in section.items()}
#: Commands that have commands of their own.
GROUPS = ("topology", "cluster")
_SECTION_OF = {name: title for title, section in SECTIONS.items() for name in section}


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
        section = _SECTION_OF[name]
        if name not in commands:
            app.command(name, help=line, rich_help_panel=section)(_show_help)
            continue
        module = importlib.import_module(f"hemiola.cli.{name}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name, rich_help_panel=section)
        else:
            settings = getattr(module, "CONTEXT", None)
            app.command(context_settings=settings, rich_help_panel=section)(getattr(module, name))
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
    int, the exit code: `hemiola.cli.exit_codes` has the meaning of each.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    streams.prepare()
    failure: tuple[str, int] | None = None
    code = exit_codes.DONE
    try:
        code = _run(words)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        if not isinstance(error.__context__ or error, BrokenPipeError):  # Rich makes a SystemExit of it
            raise
        code = exit_codes.NO_READER
    except Exception as error:
        failure = _line_and_code(error)
    except (KeyboardInterrupt, typer.Abort):
        failure = _interruption()
    if failure is not None:
        line, code = failure
        code = exit_codes.of_own_failure(words, code)
        print(line if code == exit_codes.BUG else f"hemiola: {_in_one_line(line)}", file=sys.stderr)
    streams.leave()
    return code


def _run(words: list[str]) -> int:
    """Run a command, by Typer's parts: its own `main` ends with exit code 1 where nobody reads the output."""
    if words[:1] == ["reproduce"]:
        raise ArgumentError("the papers are in Hemiola's repository: run 'python -m papers' in a clone of it")
    wanted = [word for word in words if word in COMMANDS][:1]
    if wanted:
        name_command(words[words.index(wanted[0]) :], GROUPS)
        _need_memory()
    app = typer.main.get_command(make_app(wanted))
    try:
        with app.make_context("hemiola", words) as context:
            result = app.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    return result if isinstance(result, int) else exit_codes.DONE


def _need_memory() -> None:
    """Raise a MemoryError where a command would run out of memory in an import, which may lose that error."""
    try:
        mmap.mmap(-1, _COMMAND_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        raise MemoryError from None


def _refused(what: str, error: int) -> tuple[str, int]:
    """Return a sentence on what the system refuses, and the exit code."""
    from hemiola._core import refusal  # the help does without the compiled core

    return refusal(what, error), exit_codes.FAILED


def _interruption() -> tuple[str, int]:
    """Return what has interrupted a command: somebody, or OpenBLAS, which does so where it gets no thread."""
    try:
        threading.Thread(target=bool).start()
    except RuntimeError:
        return _refused("no thread can be started", errno.EAGAIN)
    return "interrupted", exit_codes.INTERRUPTED


def _line_and_code(error: BaseException) -> tuple[str, int]:
    """Return what to say about an error, and the exit code; a failed rank's own error counts."""
    match error:
        case FailedRankError(__cause__=HemiolaError() as cause):
            line, code = _line_and_code(cause)
            return f"rank {error.rank}: {line}", code
        case ArgumentError() | FormatError() | MismatchError() | MissingPackageError():
            return str(error), exit_codes.MISTAKE
        case InternalError():
            return traceback.format_exc(), exit_codes.BUG
        case HemiolaError():
            return str(error), exit_codes.FAILED
        case OSError():
            return f"{_place_of(error)}{error.strerror or error}", exit_codes.MISTAKE
        case MemoryError():
            return _refused("this needs more memory than there is", errno.ENOMEM)
    if isinstance(error, _UsageError):
        line = error.format_message().rstrip(".")  # type: ignore[attr-defined]
        return f"{line}. Try 'hemiola --help'.", exit_codes.MISTAKE
    return traceback.format_exc(), exit_codes.BUG  # an error that no command expects is a bug of ours


def _place_of(error: OSError) -> str:
    if error.filename:
        return f"'{error.filename}': "
    return "standard output: " if error.errno in _OUTPUT_ERRORS else ""


def _in_one_line(message: str) -> str:
    return " ".join(printable(message).split())
