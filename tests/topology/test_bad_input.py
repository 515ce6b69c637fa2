# SPDX-License-Identifier: Apache-2.0
"""Every reader answers malformed, truncated, huge or hostile input with a one-line FormatError, and quickly."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hemiola as hm
from hemiola.errors import FormatError
from hemiola.topology.nccl_xml import from_xml
from hemiola.topology.nvidia_smi import from_matrix

HERE = Path(__file__).parent
REFUSED = sorted((HERE / "corpus" / "refused").iterdir())
MUTATED = sorted((HERE / "corpus" / "mutated").iterdir())
VALID = sorted([*(HERE / "data").iterdir(), *(HERE.parent.parent / "examples").glob("*.yaml")])


def refusal_of(read, *arguments):
    """Return what the reader says where it refuses, None where it reads; nothing else may happen."""
    try:
        read(*arguments)
    except FormatError as error:
        return str(error)
    return None


def is_one_line(text):
    return text is None or (text.isprintable() and len(text) < 600)


@pytest.mark.parametrize("path", REFUSED, ids=lambda p: p.name)
def test_hostile_files_are_refused_in_one_line_that_names_the_file(path):
    text = refusal_of(hm.Topology.load, path)
    assert text is not None
    assert path.name in text
    assert is_one_line(text)


@pytest.mark.parametrize("path", MUTATED, ids=lambda p: p.name)
def test_mutated_files_are_read_or_refused(path):
    text = refusal_of(hm.Topology.load, path)
    assert is_one_line(text)
    assert text is None or path.name in text


@pytest.mark.parametrize("path", VALID, ids=lambda p: p.name)
def test_the_files_that_were_mutated_are_valid(path):
    assert hm.Topology.load(path).rank_count >= 4


def test_no_hostile_file_takes_more_than_a_gigabyte():
    """All of them, one after the other, in a process that may not have more than 1 GiB beyond what it starts with."""
    program = (
        "import pathlib, resource, sys\n"
        "import hemiola as hm\n"
        "from hemiola.errors import FormatError\n"
        "hm.Topology.from_yaml('ranks: 1\\nlinks: []')\n"
        "pages = int(pathlib.Path('/proc/self/statm').read_text().split()[0])\n"
        f"limit = pages * {resource.getpagesize()} + (1 << 30)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        hm.Topology.load(path)\n"
        "    except FormatError:\n"
        "        pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, REFUSED)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse
    with pytest.raises(FormatError, match="expected at most 16777216 bytes"):
        hm.Topology.load(path)


def test_a_directory_or_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(IsADirectoryError):
        hm.Topology.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        hm.Topology.load(tmp_path / "none.yaml")


def test_a_pipe_is_read_like_a_file(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, b"ranks: 1\nlinks: []\n")
    os.close(writing)
    assert hm.Topology.load(f"/dev/fd/{reading}").rank_count == 1
    os.close(reading)


@pytest.mark.parametrize("number", [1 << 31, 1 << 40, 1 << 63])
def test_a_file_as_written_with_a_host_beyond_all_numbers_is_refused(number):
    cost = {"latency_s": 1e-6, "bandwidth": 1e9, "nic_latency_s": 5e-6, "nic_bandwidth": 1e8}
    written = hm.topologies.hosts(2, 2, **cost).to_yaml()
    assert "nic: 1/" in written
    with pytest.raises(FormatError, match="'nic'"):
        hm.Topology.from_yaml(written.replace("nic: 1/", f"nic: {number}/", 1))


def test_text_that_is_no_unicode_is_refused():
    with pytest.raises(FormatError, match="surrogate"):
        hm.Topology.from_yaml("name: \ud800\nranks: 1\nlinks: []")


FUZZ = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
#: Pieces that lead deep into the readers.
WORDS = """
    ranks: links: topology: ring mesh hosts cluster boxes dims: latency: bandwidth: name: nodes: switches: degraded:
    without_ranks: 0 1 2 -1 1e400 99999999999 [ ] { } , : - & * ! | > ? ' " # % @ us GB/s <system> <cpu> <pci> <gpu>
    </gpu> </pci> </cpu> </system> rank="0" <nvlink target=""/> <!DOCTYPE GPU0 GPU1 X NV4 PIX SYS CPU
"""
WORD = st.sampled_from([*WORDS.split(), "\n", "  "])
PROSE = st.one_of(st.text(max_size=200), st.lists(WORD, max_size=60).map(" ".join))


@FUZZ
@given(PROSE)
def test_any_text_is_read_or_refused_as_yaml(text):
    assert is_one_line(refusal_of(hm.Topology.from_yaml, text))


@FUZZ
@given(PROSE)
def test_any_text_is_read_or_refused_as_xml(text):
    assert is_one_line(refusal_of(from_xml, text, "'x'"))


@FUZZ
@given(PROSE)
def test_any_text_is_read_or_refused_as_a_matrix(text):
    assert is_one_line(refusal_of(from_matrix, text, "'x'"))


@settings(FUZZ, max_examples=300)
@given(st.data())
def test_any_change_to_a_valid_file_is_read_or_refused(tmp_path_factory, data):
    content = bytearray(data.draw(st.sampled_from(VALID)).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 40)))
        content[start:end] = data.draw(st.one_of(st.binary(max_size=8), WORD.map(str.encode)))
    path = tmp_path_factory.getbasetemp() / "changed"
    path.write_bytes(content)
    assert is_one_line(refusal_of(hm.Topology.load, path))
