# SPDX-License-Identifier: Apache-2.0
"""What commands print, wherever it goes: another encoding, a closed pipe, a full disk, closed descriptors. None of it
changes what an exit code says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hemiola as hm
from hemiola.cli import COMMANDS, exit_codes
from hemiola.cli.streams import plain

LIMIT_S = 120
#: Environments in which letters are not those of UTF-8.
ENCODINGS = {
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "POSIX": {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
#: Each command once, in the smallest form that prints an answer, and its exit code.
QUICK: dict[str, tuple[list[str], int]] = {
    "run": (["run", "all_reduce", "1KiB", "-n", "2", "--repeats", "1"], exit_codes.DONE),
    "bench": (["bench", "-b", "1K", "-e", "1K", "-n", "2", "-w", "1", "--repeats", "1"], exit_codes.DONE),
    "plan": (["plan", "all_reduce", "m.yaml", "1MiB"], exit_codes.DONE),
    "plan of a file with letters": (["plan", "all_reduce", "mésh.yaml", "1MiB"], exit_codes.DONE),
    "synthesize": (["synthesize", "all_gather", "m.yaml"], exit_codes.DONE),
    "simulate": (["simulate", "r.sched", "m.yaml", "1MiB"], exit_codes.DONE),
    "sweep": (["sweep", "all_reduce", "m.yaml", "-b", "1KiB", "-e", "1KiB", "-a", "ring"], exit_codes.DONE),
    "verify": (["verify", "r.sched"], exit_codes.DONE),
    "verify a wrong one": (["verify", "--explain", "wrong.sched"], exit_codes.NO),
    "view": (["view", "r.sched"], exit_codes.DONE),
    "whatif": (["whatif", "resnet-50", "--topology", "m.yaml"], exit_codes.DONE),
    "export": (["export", "r.sched", "--to", "mscclpp", "-o", "plan.json"], exit_codes.DONE),
    "topology": (["topology", "show", "m.yaml"], exit_codes.DONE),
    "doctor": (["doctor"], exit_codes.DONE),
    "diagnose": (["diagnose", "--help"], exit_codes.DONE),
    "trace": (["trace", "mésh", "t.json"], exit_codes.MISTAKE),
    "status": (["status"], exit_codes.DONE),
    "accelerate": (["accelerate", "--help"], exit_codes.DONE),
    "calibrate": (["calibrate", "--help"], exit_codes.DONE),
    "launch": (["launch", "-n", "2", "echo", "é…"], exit_codes.DONE),
    "cluster": (["cluster", "status"], exit_codes.DONE),
    "completion": (["completion", "bash"], exit_codes.DONE),
    "a mistake with letters": (["plan", "all_reduce", "nofilé…", "1MiB"], exit_codes.MISTAKE),
}
#: Those that are given letters beyond ASCII, which go through an encoding on their way in, too.
GIVEN_LETTERS = [name for name, (words, _) in QUICK.items() if not all(map(str.isascii, words))]
#: Those that start processes, which have the descriptors that are left.
STARTING = ["run", "bench", "launch"]
CLOSED = ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "2>/dev/full"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a network, a right schedule and a wrong one."""
    made = tmp_path_factory.mktemp("given")
    network = hm.topologies.mesh([2, 2], latency_s=1e-6, bandwidth=1e9)
    for name in ("m.yaml", "mésh.yaml"):
        network.save(made / name)
    ring = hm.algorithms.all_reduce_ring(4)
    ring.save(made / "r.sched")
    hm.Schedule.from_transfers(ring.collective, ring.transfers[:-1]).save(made / "wrong.sched")
    return made


def _ran(folder: Path, words: list[str], redirection: str = "", **variables: str) -> tuple[int, str]:
    """Run a command as a shell does; return its exit code and what it wrote to standard error."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))
    }
    done = subprocess.run(
        [
            "bash",
            "-o",
            "pipefail",
            "-c",
            f'"$@" {redirection}',
            "sh",
            sys.executable,
            "-m",
            "hemiola",
            *words,
        ],
        cwd=folder,
        env=inherited | {"PYTHONUTF8": "1", "HEMIOLA_TIMEOUT": "60s"} | variables,
        capture_output=True,
        timeout=LIMIT_S,
    )
    return done.returncode, done.stderr.decode(errors="replace")


def test_every_command_is_tried() -> None:
    assert {words[0] for words, _ in QUICK.values()} == set(COMMANDS)


@pytest.mark.long
@pytest.mark.parametrize("command", QUICK)
def test_no_command_fails_over_its_letters(folder: Path, command: str) -> None:
    """ASCII has the fewest letters for what is printed, and C for what is passed."""
    words, expected = QUICK[command]
    for encoding in ENCODINGS if command in GIVEN_LETTERS else ("ascii", "C"):
        code, err = _ran(folder, words, **ENCODINGS[encoding])
        assert (code, "Traceback" in err) == (expected, False), (encoding, err)


@pytest.mark.parametrize("command", ["verify", "plan", "verify a wrong one"])
def test_answers_with_letters_are_given_in_ascii(folder: Path, command: str) -> None:
    words, expected = QUICK[command]
    assert _ran(folder, words, **ENCODINGS["ascii"]) == (expected, "")


def test_letters_become_those_of_ascii() -> None:
    assert plain("α + β·n ≥ 2 µs …") == "alpha + beta.n >= 2 us ..."
    assert plain("Königsberg – 漢") == "Konigsberg - ?"


@pytest.mark.long
@pytest.mark.parametrize("command", QUICK)
def test_a_closed_descriptor_changes_no_exit_code(folder: Path, command: str) -> None:
    """What is closed is opened anew before a command is read: each meets all closed, and two of the other cases."""
    words, expected = QUICK[command]
    turn = 2 * list(QUICK).index(command)
    some = [CLOSED[(turn + i) % len(CLOSED)] for i in range(2)]
    for closed in ["<&- >&- 2>&-", *(CLOSED if command in STARTING else some)]:
        code, err = _ran(folder, words, closed)
        assert (code, "Traceback" in err) == (expected, False), (closed, err)


@pytest.mark.parametrize("command", ["verify", "verify a wrong one", "plan", "launch"])
def test_output_that_nobody_takes_has_exit_codes_of_its_own(folder: Path, command: str) -> None:
    words, _ = QUICK[command]
    own = exit_codes.of_own_failure(words, exit_codes.MISTAKE)
    assert _ran(folder, words, "| true")[0] == exit_codes.NO_READER
    code, err = _ran(folder, words, "> /dev/full")
    assert (code, err) == (own, "hemiola: standard output: No space left on device\n")


def test_a_bug_is_no_answer(folder: Path) -> None:
    script = (
        "import hemiola.cli as cli, hemiola.cli.verify as v\n"
        "def broken(*a, **k): raise KeyError('bug')\n"
        "cli.make_app = broken; import sys; sys.exit(cli.main(['verify', 'r.sched']))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True)
    assert done.returncode == exit_codes.BUG
    assert "KeyError: 'bug'" in done.stderr


def test_only_commands_that_ask_something_say_no() -> None:
    """The table of the documentation has every command that can end with this code, and no other."""
    sources = Path(hm.__file__).parent / "cli"
    asking = {path.stem for path in sources.glob("*.py") if "typer.Exit(1)" in path.read_text()}
    assert asking | {"topology"} == {name.split()[0] for name in exit_codes.NO_MEANS}
