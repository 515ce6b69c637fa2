# SPDX-License-Identifier: Apache-2.0
"""What holds for every command: help, exit codes, one line for a mistake."""

import subprocess
import sys

import pytest
import typer

from hemiola.cli import COMMANDS, make_app


def test_no_arguments_print_the_help(hemiola) -> None:
    ran = hemiola()
    assert ran.code == 0
    assert "Usage" in ran.out


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["--nonsense"], ["doctor", "--nonsense"], ["doctor", "x"], [""]]
)
def test_a_wrong_command_or_option_is_one_line_and_exit_code_2(hemiola, arguments: list[str]) -> None:
    ran = hemiola(*arguments)
    assert ran.is_users_mistake(), ran


def test_reproduce_says_in_a_line_where_the_papers_are(hemiola) -> None:
    ran = hemiola("reproduce", "spccl", "--only", "bytes")
    assert ran.is_users_mistake(), ran
    assert "python -m papers" in ran.err


def test_arguments_that_are_no_unicode_are_one_line_and_exit_code_2(hemiola) -> None:
    ran = hemiola("\udcff\udc80")
    assert ran.is_users_mistake(), ran


def test_ranks_and_most_commands_start_without_heavy_packages() -> None:
    # Every rank of `hemiola run` imports these; matplotlib and HiGHS would cost each of them a second.
    code = (
        "import sys, hemiola.cli.run, hemiola.cli.bench; print({'matplotlib', 'highspy'} & set(sys.modules))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "set()\n"
    )


def test_a_question_imports_nothing_of_ranks_that_run_or_of_pictures() -> None:
    # It has a second of processor time for all of it.
    code = (
        "import sys, hemiola.cli.whatif;"
        "print({'matplotlib', 'highspy', 'hemiola.communicator', 'hemiola.environment'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


def test_the_help_imports_nothing_that_computes_and_says_what_the_commands_say() -> None:
    code = (
        "import sys; from hemiola.cli import main; main(['--help']);"
        "print(sorted({'numpy', 'highspy', 'matplotlib', 'rustworkx', 'hemiola._core'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
    for name, command in typer.main.get_command(make_app()).commands.items():
        assert " ".join(command.help.split("\n\n")[0].split()) == COMMANDS[name]


def test_every_command_has_a_help_text_and_takes_json(hemiola) -> None:
    for command in COMMANDS:
        ran = hemiola(command, "--help")
        assert ran.code == 0
        assert "Usage" in ran.out
        assert "--json" in ran.out or command in ("topology", "cluster")


@pytest.mark.parametrize("command", ["up", "exec", "run", "rate", "link", "status", "down"])
def test_every_command_of_a_cluster_takes_json(hemiola, command: str) -> None:
    assert "--json" in hemiola("cluster", command, "--help").out
