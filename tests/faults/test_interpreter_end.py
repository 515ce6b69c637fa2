# SPDX-License-Identifier: Apache-2.0
"""The interpreter ends while daemon threads are in the core: the process ends as it would without them."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import threading, time
import hemiola as hm

schedule = hm.algorithms.all_to_all_direct(300)
topology = hm.topologies.switch(300, latency_s=1e-6, bandwidth=1e9)

def again_and_again():
    while True:
        {call}

threading.Thread(target=again_and_again, daemon=True).start()
time.sleep(0.2)
"""


@pytest.mark.parametrize("call", ["hm.simulate(schedule, topology, nbytes=2_000_000)", "schedule.to_text()"])
def test_a_daemon_thread_in_a_long_call_does_not_abort_the_process(call: str) -> None:
    for _ in range(3):  # where the thread is when the interpreter ends differs
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(call=call)], capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")
