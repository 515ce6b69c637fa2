# SPDX-License-Identifier: Apache-2.0
"""Files that Hemiola writes: what was there stays until the new one is there."""

import os
import resource
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import hemiola as hm
from hemiola import synthesis, topologies
from hemiola.view.steps import draw_steps
from hemiola.view.topology import draw_topology
from hemiola.whole_file import write_whole
from papers.report import Report

COST = {"latency_s": 0.5e-6, "bandwidth": 50e9}
RING = hm.algorithms.all_reduce_ring(3)
MESH = topologies.mesh([3, 3], **COST)
OLD = b"what was there before"


def _stream(path: Path) -> None:
    synthesis.synthesize_to_file(MESH, "all_gather", path)


def _report(path: Path) -> None:
    report = Report(path.stem, "A report", path.parent)
    report.text("nothing new")
    report.write()


#: File name, and what writes it.
WRITERS: dict[str, Callable[[Path], object]] = {
    "text.sched": RING.save,
    "binary.schedb": RING.save,
    "streamed.schedb": _stream,
    "topology.yaml": MESH.save,
    "trace.json": lambda path: hm.simulate(RING, topologies.ring(3, **COST), 3000).save_trace(path),
    "steps.svg": lambda path: draw_steps(RING, path, title="ring"),
    "topology.png": lambda path: draw_topology(MESH, path),
    "report.md": _report,
    "any.bin": lambda path: write_whole(path, bytes(1000)),
}


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let writing fail where a file would grow beyond a size, as it does where a disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", WRITERS)
def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(OLD)
    with files_of_at_most(10), pytest.raises(OSError, match=name):
        WRITERS[name](path)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]
    WRITERS[name](path)
    assert path.read_bytes() != OLD
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A disk of 64 KiB that holds a good schedule has no room for a larger one; in a mount namespace of its own."""
    program = (
        "import os, sys\n"
        "import hemiola as hm\n"
        "good, large = hm.algorithms.all_reduce_ring(3), hm.algorithms.all_reduce_ring(128)\n"
        "for path in ('x.sched', 'x.schedb'):\n"
        "    good.save(path)\n"
        "    try:\n"
        "        large.save(path)\n"
        "        sys.exit('expected a full disk')\n"
        "    except OSError as error:\n"
        "        assert error.errno == 28, error\n"
        "    assert hm.Schedule.load(path) == good\n"
        "    os.remove(path)\n"
        "    assert os.listdir() == []\n"
    )
    mount = 'mount -t tmpfs -o size=64k none "$1" && cd "$1" && exec "$2" -c "$3"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
    ran = subprocess.run(
        [*command, str(tmp_path), sys.executable, program], capture_output=True, text=True, check=False
    )
    if "unshare" in ran.stderr or "mount:" in ran.stderr:
        pytest.skip(f"this machine lends no mount namespace: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stderr


def test_a_pipe_is_written_to_directly(tmp_path: Path) -> None:
    for name in ("text.sched", "topology.yaml"):
        path = tmp_path / name
        os.mkfifo(path)
        read: list[bytes] = []
        reader = threading.Thread(target=lambda path=path, read=read: read.append(path.read_bytes()))
        reader.start()
        WRITERS[name](path)
        reader.join(10)
        assert stat.S_ISFIFO(path.stat().st_mode)
        assert read[0].startswith((b"hemiola schedule 2\n", b'name: "'))


def test_standard_output_is_written_to_directly(tmp_path: Path) -> None:
    """Whether it is a pipe or a file that somebody else holds open, too."""
    program = "import sys, hemiola as hm; hm.algorithms.all_reduce_ring(3).save('/dev/stdout')"
    piped = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert hm.Schedule.from_text(piped.stdout.decode()) == RING
    with (tmp_path / "out.sched").open("wb") as out:
        subprocess.run([sys.executable, "-c", program], stdout=out, check=True)
        assert os.fstat(out.fileno()).st_ino == (tmp_path / "out.sched").stat().st_ino
    assert hm.Schedule.load(tmp_path / "out.sched") == RING


def test_a_device_takes_what_is_written() -> None:
    RING.save("/dev/null")
    with pytest.raises(OSError, match="No space left"):
        RING.save("/dev/full")


def test_links_and_permissions_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "inside" / "real.sched", tmp_path / "link.sched"
    real.parent.mkdir()
    real.write_bytes(OLD)
    real.chmod(0o640)
    link.symlink_to("inside/real.sched")
    RING.save(link)
    assert link.is_symlink()
    assert hm.Schedule.load(real) == RING
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    real.unlink()
    RING.save(link)  # leads to a file that is to be made
    assert hm.Schedule.load(real) == RING


def test_a_name_as_long_as_a_name_may_be_can_be_written(tmp_path: Path) -> None:
    RING.save(tmp_path / ("n" * 248 + ".schedb"))


def test_where_nothing_can_be_written_the_error_names_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"'.*none/x\.sched'"):
        RING.save(tmp_path / "none" / "x.sched")
    with pytest.raises(IsADirectoryError):
        RING.save(tmp_path)
    assert not any(tmp_path.iterdir())
