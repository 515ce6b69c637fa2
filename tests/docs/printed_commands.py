# SPDX-License-Identifier: Apache-2.0
"""The commands that README and the docs print, and for each the smallest form that still does the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_COMMAND = re.compile(
    r"(hemiola [a-z]|python (-m|benchmarks|scripts|examples)|benchmarks/\w+\.py|scripts/\w+|make [a-z])"
    r"|torchrun|mpirun|srun"
)


@dataclass(frozen=True)
class Smallest:
    """What is run for the commands that a pattern matches; nothing where `why_not` says why.

    `may_miss`: so small, it may miss a goal, or it finds what is wrong, which exit status 1 says.
    """

    pattern: str
    words: str = ""
    why_not: str = ""
    may_miss: bool = False


def a_benchmark(name: str, arguments: str = "", *, may_miss: bool = False) -> Smallest:
    """Return a benchmark's smallest form, whatever arguments the docs print."""
    return Smallest(
        rf"(python )?benchmarks/{name}\.py( .*)?", f"python benchmarks/{name}.py {arguments}", "", may_miss
    )


def not_here(pattern: str, why_not: str) -> Smallest:
    """Return that some commands are not run by this test, and why."""
    return Smallest(pattern, why_not=why_not)


#: The first whose pattern is the whole command counts.
FORMS = [
    a_benchmark("artefacts", "docs/reference"),
    a_benchmark("c_call", "--help"),
    a_benchmark("calibrate", "--hosts 3 --rounds 1", may_miss=True),
    a_benchmark("bounds", "--count 20 --jobs 1"),
    a_benchmark("damaged_schedules", "--count 4"),
    a_benchmark("dead_nic", "--calls 2 --size 4KiB --bandwidth 20MB/s"),
    a_benchmark("degraded_nic", "--ranks 4 --size 64KiB", may_miss=True),
    a_benchmark("diagnose", "--rounds 1 --minutes 0.01", may_miss=True),
    a_benchmark("doors", "--help"),
    a_benchmark("real_steps", "--help"),
    a_benchmark("whatif_questions", "--help"),
    a_benchmark("endurance", "--kills 1 --stops 1 --closes 1 --operations 20 --ranks 2"),
    a_benchmark("fuzz_cli", "--count 20 --processes 2 --workers 1"),
    a_benchmark("healing", "--help"),
    a_benchmark("membership", "--ranks 2 --rounds 1", may_miss=True),
    a_benchmark("page_frames", may_miss=True),
    a_benchmark("inference", "--only calls --places 2 --sizes 1024 --rounds 1 --tokens 1", may_miss=True),
    a_benchmark("judge", "--ranks 8 --repeats 1", may_miss=True),
    a_benchmark("late_found", "--calls 1 --size 4KiB --bandwidth 20MB/s", may_miss=True),
    a_benchmark("late_soak", "--collectives 20"),
    a_benchmark("levels", "--most-ranks 8 --most-transfers 1000", may_miss=True),
    a_benchmark("measured_over_simulated", "--rounds 1 --sizes 65536", may_miss=True),
    a_benchmark(
        "network",
        "--only small --hosts 2 --rounds 1 --peers --report report --out network.jsonl",
        may_miss=True,
    ),
    a_benchmark("monotone", "--count 1", may_miss=True),
    a_benchmark("tls", "--rounds 1", may_miss=True),
    a_benchmark("boosting", "--ranks 2 --rounds 2 --turns 1", may_miss=True),
    a_benchmark("network_faults", "--runs 1 --only undisturbed --undisturbed 1"),
    a_benchmark(
        "overlap",
        "--sizes 65536 --rounds 1 --collectives all_reduce --works elements --contenders hemiola --out x.jsonl",
        may_miss=True,
    ),
    a_benchmark("plans", "--count 1", may_miss=True),
    a_benchmark("published", "--report published.md"),
    a_benchmark("random_settings"),
    a_benchmark(
        "shared_memory",
        "--ranks 2 --sizes 1024 --rounds 1 --peers --collectives all_reduce --out x.jsonl --chart x.png",
        may_miss=True,
    ),
    a_benchmark("shared_nics", "--rounds 1 --sizes 65536", may_miss=True),
    a_benchmark("simulator", "--runs 1", may_miss=True),
    a_benchmark("skewed_exchange", "--rounds 1 --seeds 1 --size 65536", may_miss=True),
    a_benchmark("quantized_collectives", "--hosts 2 --bytes 64KiB --turns 1", may_miss=True),
    a_benchmark("sparse_collectives", "--hosts 2 --bytes 64KiB --turns 1", may_miss=True),
    a_benchmark("start_up", "--ranks 2 --rounds 1", may_miss=True),
    a_benchmark("synthesis", may_miss=True),
    a_benchmark("torch_cluster", "--help"),
    a_benchmark("torch_ddp_step", "--ranks 2 --batch 1 --steps 1 --rounds 1", may_miss=True),
    a_benchmark("torch_frameworks", "ddp", may_miss=True),
    a_benchmark("torch_groups", "--ranks 2 --groups 2 --rounds 1 --stores file", may_miss=True),
    a_benchmark("torch_latency", "--ranks 2 --sizes 1KiB --only all_reduce --rounds 1", may_miss=True),
    not_here(
        r"(python )?benchmarks/torch_versions\.py.*|scripts/build_wheel\.py.*",
        "installs other PyTorchs, 5 GB each",
    ),
    a_benchmark("blame", "absent --runs 1"),
    a_benchmark("cuts", "--runs 1"),
    a_benchmark("diagnosis", "--hosts 2 --rounds 1 --case 'late rank'", may_miss=True),
    a_benchmark("wire_cost", "--rounds 1", may_miss=True),
    a_benchmark("wires", "--only shm --tests arrivals -k one_rank"),
    not_here(
        r"scripts/fuzz_frames\.sh.*", "runs for ten minutes; FuzzedFrames of the C++ tests has its inputs"
    ),
    not_here(r"scripts/fuzz_codecs\.sh.*", "needs clang with libFuzzer; tests/codec runs its inputs without"),
    not_here(r"make .*", "the Makefile's targets are what runs this test, or set the environment up anew"),
    not_here(r"python -m pytest -m long .*", "a long test, which runs beside this one"),
    not_here(
        r"python scripts/site_pictures\.py", "runs the blocks of pages; tests/docs/test_site_pictures.py"
    ),
    not_here(r".*[…].*", "left open by the text: …"),
    # The papers' sections take minutes each: one of each paper runs; that all names exist another test checks.
    Smallest(r"python -m papers stragglar( .*)?", "python -m papers stragglar --only table_1 --out ."),
    Smallest(r"python -m papers optcc( .*)?", "python -m papers optcc --only bandwidth_only --out ."),
    Smallest(r"python -m papers pccl( .*)?", "python -m papers pccl --only closed_forms --out ."),
    Smallest(r"python -m papers spccl( .*)?", "python -m papers spccl --only union --out ."),
    Smallest(r"python -m papers tacos( .*)?", "python -m papers tacos --only slots --out ."),
    Smallest(r"python -m papers workloads( .*)?", "python -m papers workloads --only spccl --out ."),
    Smallest(r"python -m papers --help", "python -m papers --help"),
    Smallest(r"python -m papers\.tacos\.scale .*", "python -m papers.tacos.scale 4x4 --threads 1"),
    not_here(
        r"hemiola accelerate|hemiola calibrate.*|hemiola cluster.*", "tests/torch and tests/network run it"
    ),
    not_here(r"hemiola launch --hosts .*", "needs hosts a and b; tests/network/test_launch_hosts.py runs it"),
    not_here(
        r"hemiola trace .*|python -m torch\.distributed\.flight_recorder.*",
        "reads records of a failed job; tests/torch",
    ),
    not_here(
        r"torchrun.*|mpirun.*|srun.*", "another project's launcher; tests/network/test_launchers.py runs it"
    ),
    not_here(r"python -m hemiola\.launch\.agent", "what `hemiola launch` starts on another host"),
    Smallest(
        r"(hemiola launch -n 4 )?python -m hemiola\.mpi (sum|script)\.py|hemiola launch -n 2 train\.py",
        "hemiola launch -n 2 python -m hemiola.mpi train.py",
    ),
    Smallest(
        r"hemiola sweep .*",
        "hemiola sweep all_reduce cluster.yaml -b 1KiB -e 4KiB -a plan -a ring --out times.csv",
    ),
    Smallest(r"hemiola whatif( .*)?", "hemiola whatif bert-large --topology cluster.yaml --parallel zero=3"),
    not_here(r"python -m hemiola\.jax program\.py", "tests/doors/test_jax.py runs it"),
    not_here(r"hemiola completion .*", "tests/cli runs it in bash, zsh and fish"),
    not_here(
        r"hemiola (completion|sweep|trace|topology convert|topology draw)", "a name in the list of schemas"
    ),
    not_here(r"python -m hemiola\.demo", "what `make demo` runs"),
    not_here(r"hemiola launch -n 4 x\.py", "a program of the reader's"),
    not_here(r"hemiola launch -n 4 -- \./mean", "a program in C; tests/doors/test_c.py runs it"),
    Smallest(r"hemiola launch( -n 4 train\.py.*)?", "hemiola launch -n 2 train.py --epochs 3"),
    Smallest(r"hemiola bench( all_reduce)?( -b.*)?", "hemiola bench all_reduce -b 1K -e 2K -n 2"),
    Smallest(r"hemiola doctor", "hemiola doctor"),
    Smallest(r"hemiola doctor --truth.*", "hemiola doctor --truth --help"),
    Smallest(r"hemiola diagnose", "hemiola diagnose --help"),
    Smallest(
        r"hemiola diagnose --emulate .*", "hemiola diagnose --emulate cluster.yaml --slow 2=3", may_miss=True
    ),
    Smallest(
        r"(\.venv/bin/)?hemiola run( .*)?",
        "hemiola run all_reduce 64KiB --emulate cluster.yaml --late 7=5ms --algorithm all --repeats 3 --chart t.png",
    ),
    Smallest(r"hemiola plan( .*)?", "hemiola plan all_reduce cluster.yaml 64MiB --slow 0=2 --effort 0.1"),
    Smallest(r"hemiola simulate( .*)?", "hemiola simulate all_reduce_ring cluster.yaml 64MiB --late 7=50ms"),
    Smallest(r"hemiola synthesize( .*)?", "hemiola synthesize all_gather box.yaml --chunks 1 --out x.sched"),
    not_here(r"hemiola export .*machine\.xml.*", "NCCL writes the machine's file on that machine"),
    Smallest(
        r"hemiola export( .*)?", "hemiola export all_reduce_ring --ranks 4 --to mscclpp --out ring.json"
    ),
    Smallest(r"hemiola verify( .*)?", "hemiola verify all_reduce_ring --ranks 4"),
    not_here(
        r'hemiola status "my job"( --watch)?', "tests/communicator/test_status.py runs the page's block"
    ),
    Smallest(r"hemiola status( --json)?", "hemiola status --json"),
    not_here(r"python examples/elastic\.py", "tests/torch/test_torch_examples.py runs it"),
    not_here(r"python benchmarks/torchft_kills\.py", "needs torchft, which no extra brings"),
    not_here(r"hemiola view records .*", "tests/view/test_job_page.py does so with records"),
    Smallest(
        r"hemiola view .* --html .*",
        "hemiola view all_reduce_ring --topology examples/cluster8.yaml --size 64KiB --html ring.html",
    ),
    Smallest(r"hemiola view( .*)?", "hemiola view all_reduce_ring --ranks 4"),
    Smallest(r"hemiola topology show +.*", "hemiola topology show examples/cluster8.yaml"),
    Smallest(r"hemiola topology show", "hemiola topology show cluster.yaml"),
    Smallest(r"hemiola topology convert .*", "hemiola topology convert dump.xml rack.yaml --repeat 4"),
    Smallest(r"hemiola topology draw +.*", "hemiola topology draw cluster.yaml cluster.png"),
]


def printed() -> dict[str, str]:
    """Return every printed command, with the place where it stands first."""
    found: dict[str, str] = {}
    for path in [ROOT / "README.md", ROOT / "papers/README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for line, command in _commands_of(path.read_text(encoding="utf-8")):
            found.setdefault(command, f"{path.relative_to(ROOT)}:{line}")
    return found


def _commands_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield the commands of a page: lines of fenced blocks that are no Python, code within lines, and examples."""
    language: str | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if fence := re.match(r"\s*```(\w*)", line):
            language = fence[1] if language is None else None
            continue
        if language is not None:
            texts = [line] if language in ("", "sh", "console") else []
        else:
            texts = re.findall(r"`([^`]+)`", line)
        for example in re.findall(r"Examples?: (.*)", line):
            texts = example.split("; ")
        for each in texts:
            command = each.partition("  #")[0].strip().removeprefix("$ ").removeprefix(".venv/bin/")
            if _COMMAND.match(command):
                yield number, command


def smallest(command: str) -> Smallest | None:
    """Return the form of a command; None where nobody has listed one."""
    return next((form for form in FORMS if re.fullmatch(form.pattern, command)), None)
