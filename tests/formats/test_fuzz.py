# SPDX-License-Identifier: Apache-2.0
"""Random and recorded damage: a reader returns a schedule or raises a FormatError of one line, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest
from binary_forgery import Forgery, section
from hypothesis import given, settings
from hypothesis import strategies as st
from random_schedules import schedules

import hemiola as hm
from hemiola.errors import FormatError

CORPUS = sorted(
    path for path in (Path(__file__).parent / "corpus").iterdir() if path.suffix in (".sched", ".schedb")
)


def read(data: bytes, form: str) -> hm.Schedule | None:
    """Return the schedule, or None where the reader refuses it as it should."""
    try:
        return (
            hm.Schedule.from_bytes(data)
            if form == "binary"
            else hm.Schedule.from_text(data.decode("latin-1"))
        )
    except FormatError as error:
        message = str(error)
    assert message.isprintable()
    assert len(message) < 400
    return None


def damage(draw: st.DrawFn, data: bytes) -> bytes:
    """Overwrite, cut, repeat or insert a few bytes."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        size = draw(st.integers(0, 12))
        fresh = draw(st.binary(max_size=12) | st.sampled_from([b"\xff" * 8, b"*999999999", b"\n", b"9" * 25]))
        match draw(st.sampled_from(["overwrite", "cut", "repeat", "insert"])):
            case "overwrite":
                data = data[:at] + fresh + data[at + len(fresh) :]
            case "cut":
                data = data[:at] + data[at + size :]
            case "repeat":
                data = data[: at + size] + data[at:]
            case "insert":
                data = data[:at] + fresh + data[at:]
    return data


@st.composite
def damaged_texts(draw: st.DrawFn) -> bytes:
    """Return a schedule's text with some bytes changed."""
    return damage(draw, draw(schedules()).to_text().encode())


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    """Return a schedule's binary form with some bytes changed; the checksums show nearly all of it."""
    return damage(draw, draw(schedules()).to_bytes())


@st.composite
def forgeries(draw: st.DrawFn) -> bytes:
    """Return a file whose sections are damaged and whose checksums hold."""
    template = Forgery()
    start = template.header + section(damage(draw, template.collective))
    block = damage(draw, template.block()) if draw(st.booleans()) else template.block()
    footer = template.footer(len(start))
    footer = damage(draw, footer) if draw(st.booleans()) else footer
    body = start + section(block)
    return body + section(footer) + len(body).to_bytes(8, "little") + template.trailer_magic


@settings(max_examples=400, deadline=None, print_blob=True)
@given(damaged_texts())
def test_damaged_texts_never_crash_the_reader(data: bytes) -> None:
    schedule = read(data, "text")
    assert schedule is None or hm.Schedule.from_text(schedule.to_text()) == schedule


@settings(max_examples=400, deadline=None, print_blob=True)
@given(damaged_files() | forgeries() | st.binary(max_size=200))
def test_damaged_files_never_crash_the_reader(data: bytes) -> None:
    schedule = read(data, "binary")
    assert schedule is None or hm.Schedule.from_bytes(schedule.to_bytes()) == schedule


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_recorded_damage_is_refused_in_one_line(path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        hm.Schedule.load(path)
    assert str(caught.value).isprintable()
    assert path.name in str(caught.value)


def test_recorded_damage_cannot_make_a_reader_allocate_much() -> None:
    """256 MiB above what the interpreter uses must be enough for all of them."""
    program = """
import resource, sys
import hemiola as hm
from hemiola.errors import FormatError
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, used + 2**28))
for path in sys.argv[1:]:
    try:
        hm.Schedule.load(path)
    except FormatError:
        pass
"""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, CORPUS)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_the_corpus_holds_both_forms() -> None:
    assert sum(path.suffix == ".sched" for path in CORPUS) >= 10
    assert sum(path.suffix == ".schedb" for path in CORPUS) >= 10
