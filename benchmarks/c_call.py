# SPDX-License-Identifier: Apache-2.0
"""What an all-reduce costs from C, beside the same one from Python: one library, two doors to it.

Goal: C takes at most 1.1 times Python's time. Both take turns, a job each. The median of the rounds' ratios counts,
since other work on the machine changes from one round to the next. One rank waits for nobody, so it
shows the call alone. `make lib` installs the library."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
LIMIT_S = 120
GOAL = 1.1


def main() -> int:
    """Print a row per number of ranks and size; exit status 1 where C takes longer than the goal says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--prefix", type=Path, default=HERE.parent / "dist/c", help="where the library is installed"
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--bytes", type=int, nargs="+", default=[1024, 1 << 20])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=1000)
    asked = parser.parse_args()
    reached = True
    with tempfile.TemporaryDirectory() as folder:
        in_c = compiled(asked.prefix.resolve(), Path(folder) / "c_call")
        in_python = [sys.executable, str(HERE / "c_call_rank.py")]
        print("| ranks | bytes | C | Python | C / Python |\n|---|---|---|---|---|")
        for ranks in asked.ranks:
            for nbytes in asked.bytes:
                words = [str(asked.calls), str(nbytes)]
                rounds = [
                    (taken_s(in_c + words, ranks), taken_s(in_python + words, ranks))
                    for _ in range(asked.rounds)
                ]
                reached &= printed(ranks, nbytes, rounds)
    return 0 if reached else 1


def printed(ranks: int, nbytes: int, rounds: list[tuple[float, float]]) -> bool:
    """Print a row; return whether the goal is reached."""
    c_s, python_s = (statistics.median(times) for times in zip(*rounds, strict=True))
    ratio = statistics.median(c / python for c, python in rounds)
    print(f"| {ranks} | {nbytes} | {1e6 * c_s:.2f} µs | {1e6 * python_s:.2f} µs | {ratio:.2f} |", flush=True)
    return ratio <= GOAL


def compiled(prefix: Path, program: Path) -> list[str]:
    """Compile the program against the installed library; return the command that runs it."""
    found = sorted(prefix.glob("lib*/**/libhemiola.so"))
    if not found:
        sys.exit(f"expected libhemiola under {prefix}, found none: run 'make lib', or name its --prefix")
    libraries = found[0].parent
    flags = [f"-I{prefix}/include", f"-L{libraries}", "-lhemiola", f"-Wl,-rpath,{libraries}"]
    subprocess.run(["cc", "-O2", str(HERE / "c_call.c"), "-o", str(program), *flags], check=True)
    return [str(program)]


def taken_s(command: list[str], ranks: int) -> float:
    """Run a job; return the seconds that rank 0 prints."""
    launch = [sys.executable, "-m", "hemiola", "launch", "-n", str(ranks), "--", *command]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        launch, env=environment, check=True, timeout=LIMIT_S, stdout=subprocess.PIPE, text=True
    )
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    sys.exit(main())
