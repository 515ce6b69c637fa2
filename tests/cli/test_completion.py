# SPDX-License-Identifier: Apache-2.0
"""Completion as the shells themselves do it, by the scripts that `hemiola completion` prints."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

#: A line up to the cursor, and words that are offered there, and one that is not.
LINES = [
    ("hemiola ", ("run", "plan", "completion"), "show"),
    ("hemiola pl", ("plan",), "run"),
    ("hemiola topology ", ("show", "draw"), "run"),
    ("hemiola run all_r", ("all_reduce",), "broadcast"),
    ("hemiola run all_reduce 1KiB --ra", ("--ranks",), "--late"),
    ("hemiola run all_reduce --op ", ("sum", "product"), "float32"),
    ("hemiola bench --dtype bf", ("bfloat16",), "float16"),
    ("hemiola simulate all_reduce_ri", ("all_reduce_ring",), "all_gather_ring"),
    ("hemiola plan all_reduce x.yaml 1MiB --network f", ("fluid", "fifo"), "--chart"),
]


def asked(shell: str, script: Path, line: str) -> list[str]:
    """Return the words that a shell offers at the end of a line."""
    words = line.split(" ")
    ask = {
        "bash": f"source {script}; COMP_WORDS=({' '.join(words[:-1])} '{words[-1]}'); COMP_CWORD={len(words) - 1}; "
        f"_hemiola hemiola '{words[-1]}' '{words[-2]}'; "
        'printf "%s\\n" "${COMPREPLY[@]}"',
        # zsh's own function takes the names that begin as the word does.
        "zsh": "compdef() { : }; _files() { : }; compadd() { shift; print -l -- ${(M)@:#${words[CURRENT]}*} }; "
        f"source {script}; words=({' '.join(words[:-1])} '{words[-1]}'); CURRENT={len(words)}; _hemiola",
        "fish": f"source {script}; complete -C '{line}'",
    }[shell]
    ended = subprocess.run([shell, "-c", ask], check=True, capture_output=True, text=True, timeout=60)
    assert ended.stderr == ""
    return [offered.split("\t")[0] for offered in ended.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_offers_commands_options_and_names(hemiola, shell: str, tmp_path: Path) -> None:
    assert shutil.which(shell), f"install {shell}, as scripts/setup.sh does"
    ran = hemiola("completion", shell)
    assert ran.code == 0
    script = tmp_path / "script"
    script.write_text(ran.out)
    for line, expected, other in LINES:
        offered = asked(shell, script, line)
        assert set(expected) <= set(offered), line
        assert other not in offered, line
