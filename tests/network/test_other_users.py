# SPDX-License-Identifier: Apache-2.0
"""Ranks of one host that run as different users: only the pairs concerned go over the network, and nobody waits."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import subprocess
import sys

import pytest

RANK = """
import time
import numpy as np
import hemiola as hm
begin = time.monotonic()
comm = hm.init(timeout_s=60)
took = time.monotonic() - begin
print("sum", float(comm.all_reduce(np.ones(3))[0]), "waited", took > 8)
"""
#: A user without a name, who may read the files of this one's Python.
AS_STRANGER = [
    *("setpriv", "--reuid", "65534", "--clear-groups"),
    *("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"),
]


def output_of(users: list[list[str]]) -> list[str]:
    """Start a rank behind each of these words; return what they have printed and logged."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    job = {
        "HEMIOLA_JOB": f"users-{os.getpid()}",
        "HEMIOLA_RANK_COUNT": str(len(users)),
        "HEMIOLA_RENDEZVOUS": f"127.0.0.1:{port}",
        "HEMIOLA_INTERFACE": "lo",
        "HEMIOLA_TOKEN": secrets.token_hex(32),
        "HEMIOLA_LOG": "debug",
    }
    ranks = [
        subprocess.Popen(
            [*words, sys.executable, "-c", RANK],
            env={**os.environ, **job, "HEMIOLA_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank, words in enumerate(users)
    ]
    try:
        return [rank.communicate(timeout=120)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()


def test_a_rank_of_another_user_shares_no_memory_and_nobody_waits_for_it() -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("starting a rank as another user takes root and setpriv, and this process has not both")
    outputs = output_of([[], [], AS_STRANGER])
    for output in outputs:
        assert "sum 3.0 waited False" in output
    assert re.search(r"rank 0 of a communicator of 3: shm to 1; tcp to 2", outputs[0])
    assert re.search(r"rank 2 of a communicator of 3: tcp to 0, 1", outputs[2])
    said = [output.count("ranks of one host share no memory") for output in outputs]
    assert said == [1, 0, 0]
    assert "ranks 0 and 1 (user 0), rank 2 (user 65534)" in outputs[0]
