# SPDX-License-Identifier: Apache-2.0
"""How long this process ran, and how long it was ready to run and had no core, as the kernel counts it."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class ProcessorTime:
    """Seconds on a core, and seconds in the queue for one, of all threads; 0 where the kernel does not say."""

    ran_s: float
    waited_s: float

    @classmethod
    def now(cls) -> ProcessorTime:
        """Read this process's use so far (schedstat, proc(5))."""
        ran_ns = waited_ns = 0
        for thread in os.listdir("/proc/self/task"):  # by hand: pathlib takes ten times as long
            try:
                file = os.open(f"/proc/self/task/{thread}/schedstat", os.O_RDONLY)
            except OSError:  # the thread has ended meanwhile, or the kernel does not count
                continue
            try:
                words = os.read(file, 256).split()
            except OSError:
                continue
            finally:
                os.close(file)
            ran_ns += int(words[0])
            waited_ns += int(words[1])
        return cls(ran_ns * 1e-9, waited_ns * 1e-9)

    def __sub__(self, before: ProcessorTime) -> ProcessorTime:
        return ProcessorTime(max(0.0, self.ran_s - before.ran_s), max(0.0, self.waited_s - before.waited_s))
