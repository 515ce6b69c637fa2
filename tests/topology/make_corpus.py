# SPDX-License-Identifier: Apache-2.0
"""Writes tests/topology/corpus: hostile topology files, and valid ones mutated with a fixed seed.

    python tests/topology/make_corpus.py

The files are committed; run this again only to add some. corpus/refused must end in a FormatError, corpus/mutated in
one or in a topology.
"""

import random
import shutil
from pathlib import Path

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"

PORTS = "  - [0, 2]\n  - [2, 0]\n  - [1, 2]\n  - [2, 1]\n"
LINKS = f"ranks: 2\nswitches: 1\nlatency: 1 us\nbandwidth: 1 GB/s\nlinks:\n{PORTS}"
RING = "topology: ring\nranks: 4\nlatency: 0.5 us\nbandwidth: 50 GB/s\n"
LAUGHS = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(9))

PIECES = (b"0", b"-1", b"1e309", b"99999999999", b"[", b"]", b":", b"\n", b"<", b"&a ", b"*a")

REFUSED: dict[str, str | bytes] = {
    "empty.yaml": "",
    "only_a_comment.yaml": "# nothing\n",
    "a_word.yaml": "ring",
    "a_list.yaml": "- ring\n- 4\n",
    "unclosed.yaml": "ranks: [1, 2",
    "tabs.yaml": "ranks:\n\t- 1\n",
    "alias_bomb.yaml": "a: &a [x, x]\n"
    + "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
    "anchor_to_itself.yaml": "ranks: &r [*r]\nlinks: []\n",
    "merge_key.yaml": "base: &b {ranks: 2}\n<<: *b\nlinks: []\n",
    "deep_brackets.yaml": "ranks: " + "[" * 5000,
    "deep_braces.yaml": "{a: " * 5000,
    "deep_blocks.yaml": "".join(" " * i + "a:\n" for i in range(300)),
    "python_object.yaml": "!!python/object/apply:os.system ['true']\n",
    "python_name.yaml": "ranks: !!python/name:os.system\nlinks: []\n",
    "binary_tag.yaml": "ranks: !!binary AAAA\nlinks: []\n",
    "two_documents.yaml": RING + "---\n" + RING,
    "key_twice.yaml": RING + "ranks: 5\n",
    "list_as_key.yaml": "? [ranks]\n: 4\n",
    "unknown_key.yaml": RING + "colour: red\n",
    "unknown_builder.yaml": "topology: moebius\nranks: 4\n",
    "missing_bandwidth.yaml": "topology: ring\nranks: 4\nlatency: 1 us\n",
    "no_unit.yaml": "topology: ring\nranks: 4\nlatency: 1\nbandwidth: 50 GB/s\n",
    "wrong_unit.yaml": "topology: ring\nranks: 4\nlatency: 1 GB/s\nbandwidth: 50 us\n",
    "zero_bandwidth.yaml": LINKS.replace("1 GB/s", "0 GB/s"),
    "negative_latency.yaml": LINKS.replace("1 us", "-1 us"),
    "infinite_bandwidth.yaml": LINKS.replace("1 GB/s", "inf GB/s"),
    "overflowing_bandwidth.yaml": LINKS.replace("1 GB/s", "1e308 PB/s"),
    "nan_latency.yaml": LINKS.replace("1 us", "nan s"),
    "ten_years_latency.yaml": LINKS.replace("1 us", "315360000 s"),
    "huge_rank_count.yaml": LINKS.replace("ranks: 2", "ranks: 99999999999999999999"),
    "four_thousand_digits.yaml": LINKS.replace("ranks: 2", "ranks: " + "9" * 5000),
    "many_ranks.yaml": "topology: ring\nranks: 2000000000\nlatency: 1 us\nbandwidth: 1 GB/s\n",
    "many_links.yaml": "topology: fully_connected\nranks: 4000000\nlatency: 1 us\nbandwidth: 1 GB/s\n",
    "many_dims.yaml": f"topology: mesh\ndims: [{', '.join(['2'] * 40)}]\nlatency: 1 us\nbandwidth: 1 GB/s\n",
    "huge_dims.yaml": "topology: torus\ndims: [2000000000, 2000000000]\nlatency: 1 us\nbandwidth: 1 GB/s\n",
    "many_hosts.yaml": "topology: hosts\nhosts: 4000000\nranks_per_host: 4096\nnics_per_host: 4096\nlatency: 1 us\n"
    "bandwidth: 1 GB/s\nnic_latency: 1 us\nnic_bandwidth: 1 GB/s\n",
    "many_boxes.yaml": "topology: boxes\nboxes: 2000000000\ncable_latency: 1 us\ncable_bandwidth: 1 GB/s\n",
    "zero_ranks.yaml": "ranks: 0\nlinks: []\n",
    "float_ranks.yaml": "ranks: 2.5\nlinks: []\n",
    "ranks_is_a_list.yaml": "ranks: [2]\nlinks: []\n",
    "links_is_a_word.yaml": "ranks: 2\nlinks: all\n",
    "links_is_null.yaml": "ranks: 2\nlinks:\n",
    "link_of_three.yaml": "ranks: 2\nlinks:\n  - [0, 1, 1 us]\n",
    "link_to_nowhere.yaml": LINKS.replace("[1, 2]", "[1, 7]"),
    "link_to_itself.yaml": LINKS.replace("[1, 2]", "[1, 1]"),
    "link_from_below.yaml": LINKS.replace("[1, 2]", "[-1, 2]"),
    "link_without_cost.yaml": "ranks: 2\nlinks:\n  - [0, 1]\n",
    "nodes_too_few.yaml": "ranks: 3\nnodes: [0, 0]\nlinks: []\n",
    "nodes_with_gap.yaml": "ranks: 3\nnodes: [0, 0, 2]\nlinks: []\n",
    "without_all_ranks.yaml": RING + "without_ranks: [0, 1, 2, 3]\n",
    "without_unknown_link.yaml": RING + "without_links: [[0, 2]]\n",
    "degraded_below_one.yaml": RING + "degraded: [[0, 0.5]]\n",
    "degraded_by_a_word.yaml": RING + "degraded: [[0, much]]\n",
    "host_is_a_list.yaml": "topology: cluster\nhosts: [[1, 2]]\n",
    "long_name.yaml": f"name: {'n' * 5000}\nranks: 1\nlinks: []\n",
    "control_characters.yaml": "ranks: 2\x00\nlinks: []\n",
    "escape_sequences.yaml": 'topology: "\\e[31mring\\n\\0"\nranks: 4\n',
    "utf16.yaml": "ranks: 2\nlinks: []\n".encode("utf-16"),
    "latin1.yaml": "name: M\xe4rz\nranks: 2\nlinks: []\n".encode("latin-1"),
    "png_header.yaml": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "random_bytes.yaml": random.Random(1).randbytes(4096),
    "billion_laughs.xml": f'<!DOCTYPE s [<!ENTITY l0 "ha">{LAUGHS}]><system>&l9;</system>',
    "external_entity.xml": '<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><system>&x;</system>',
    "parameter_entity.xml": '<!DOCTYPE s [<!ENTITY % p SYSTEM "http://127.0.0.1/x.dtd"> %p;]><system/>',
    "deep.xml": "<pci>" * 2000,
    "no_gpus.xml": '<system version="1"><cpu numaid="0"/></system>',
    "other_root.xml": "<topology version='2.0'/>",
    "unclosed.xml": "<system><cpu>",
    "two_roots.xml": "<system/><system/>",
    "gpu_outside_pci.xml": '<system><cpu><gpu dev="0" rank="0"/></cpu></system>',
    "attribute_twice.xml": '<system><cpu><pci busid="1" busid="2"><gpu rank="0"/></pci></cpu></system>',
    "huge_width.xml": '<system><cpu><pci busid="1" link_width="1e300"><gpu rank="0"/></pci></cpu></system>',
    "rank_is_a_word.xml": '<system><cpu><pci busid="1"><gpu rank="first"/></pci></cpu></system>',
    "bad_encoding.xml": '<?xml version="1.0" encoding="EBCDIC-US"?><system/>',
    "ragged.topo": "     GPU0 GPU1\nGPU0 X PIX\nGPU1 PIX\n",
    "asymmetric.topo": "     GPU0 GPU1\nGPU0 X PIX\nGPU1 SYS X\n",
    "no_header.topo": "GPU0 X PIX\nGPU1 PIX X\n",
    "unknown_relation.topo": "     GPU0 GPU1\nGPU0 X NEAR\nGPU1 NEAR X\n",
    "many_nvlinks.topo": "     GPU0 GPU1\nGPU0 X NV99999999999\nGPU1 NV99999999999 X\n",
    "many_columns.topo": " ".join(f"GPU{i}" for i in range(2000)) + "\nGPU0 X " + "PIX " * 1999,
}


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Change a few bytes, lines or numbers."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        at, length = rng.randrange(len(data) + 1), rng.choice((1, 1, 2, 8, 64))
        change = rng.randrange(6)
        if change == 0:
            del data[at : at + length]
        elif change == 1:
            data[at:at] = rng.randbytes(length)
        elif change == 2:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif change == 3:
            data[at:at] = data[at : at + length] * rng.choice((1, 2, 20))
        elif change == 4:
            data[at:at] = rng.choice(
                (b"0", b"-1", b"1e309", b"99999999999", b"[", b"]", b":", b"\n", b"<", b"&a ", b"*a")
            )
        else:
            lines = bytes(data).split(b"\n")
            rng.shuffle(lines)
            data = bytearray(b"\n".join(lines))
        data = data or bytearray(b" ")
    return bytes(data)


def main() -> None:
    """Write both folders anew."""
    shutil.rmtree(CORPUS, ignore_errors=True)
    for folder in ("refused", "mutated"):
        (CORPUS / folder).mkdir(parents=True)
    for name, content in REFUSED.items():
        (CORPUS / "refused" / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    rng = random.Random(20260801)
    examples = HERE.parent.parent / "examples"
    for source in sorted([*examples.glob("*.yaml"), *(HERE / "data").iterdir()]):
        for index in range(8):
            name = f"{source.stem}_{index}{source.suffix}"
            (CORPUS / "mutated" / name).write_bytes(mutate(source.read_bytes(), rng))


if __name__ == "__main__":
    main()
