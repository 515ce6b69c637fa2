"""How long this process ran, and how long it was ready to run and had no core, as the kernel counts it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ProcessorTime:
    """Seconds on a core, and seconds in the queue for one, of all threads; 0 where the kernel does not say."""

    ran_s: float
    waited_s: float

    @classmethod
    def now(cls) -> ProcessorTime:
        """Read what this process has used so far (schedstat, proc(5))."""
        ran_ns = waited_ns = 0
        for thread in Path("/proc/self/task").glob("*/schedstat"):
            try:
                words = thread.read_text().split()
            except OSError:  # the thread has ended meanwhile
                continue
            ran_ns += int(words[0])
            waited_ns += int(words[1])
        return cls(ran_ns * 1e-9, waited_ns * 1e-9)

    def __sub__(self, before: ProcessorTime) -> ProcessorTime:
        return ProcessorTime(max(0.0, self.ran_s - before.ran_s), max(0.0, self.waited_s - before.waited_s))
