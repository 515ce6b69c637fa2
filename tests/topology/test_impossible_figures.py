# SPDX-License-Identifier: Apache-2.0
"""Figures of NCCL's XML that cannot be: a warning says what is taken instead, or the file is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import hemiola as hm
from hemiola.errors import FormatError, TopologyWarning
from hemiola.topology.nccl_xml import from_xml

PCI = 'link_speed="32.0 GT/s PCIe" link_width="16"'


def text(net: str = "", gpu: str = "", pci: str = PCI) -> str:
    card = f'<pci busid="0000:51:00.0" {pci}><nic><net name="mlx5_0" {net}/></nic></pci>' if net else ""
    device = f'<pci busid="0000:03:00.0" {pci}><gpu dev="0" sm="90" rank="0">{gpu}</gpu></pci>'
    return f'<system version="1">\n<cpu numaid="0">\n{device}\n{card}</cpu></system>'


def warned(source: str, words: str) -> hm.Topology:
    with pytest.warns(TopologyWarning, match=words) as caught:
        t = from_xml(source, "'x.xml'")
    assert all(str(w.message).startswith("'x.xml', line ") and "\n" not in str(w.message) for w in caught)
    return t


def silent(source: str) -> hm.Topology:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return from_xml(source, "'x.xml'")


def nic_speed(t: hm.Topology) -> float:
    return float(t.links["bandwidth"][t.nics[0][2][0]])


@pytest.mark.parametrize("speed", ["200000000", "2000000", "400000000000"])
def test_a_nic_faster_than_any_has_what_its_pcie_link_carries(speed: str) -> None:
    assert nic_speed(warned(text(f'speed="{speed}"'), "more than any NIC has; taken for 48 GB/s")) == 48e9


@pytest.mark.parametrize("speed", ["1600000", "800000", "100", "-1", "0", ""])
def test_speeds_that_nics_have_and_unknown_ones_pass_in_silence(speed: str) -> None:
    assert nic_speed(silent(text(f'speed="{speed}"'))) == (
        float(speed) * 125e3 if float(speed or 0) > 0 else 1.25e9
    )


def test_a_nic_without_a_pcie_link_that_is_faster_than_any_counts_as_unknown() -> None:
    bare = text().replace("</cpu>", '<nic><net name="eth0" speed="200000000"/></nic></cpu>')
    assert nic_speed(warned(bare, "taken for 1.25 GB/s")) == 1.25e9


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 12, 16, 32])
def test_lanes_that_a_pcie_link_may_have_pass_in_silence(lanes: int) -> None:
    t = silent(text(pci=f'link_speed="32.0 GT/s PCIe" link_width="{lanes}"'))
    assert t.links["bandwidth"][t.links["src"] == 0].tolist() == [3e9 * lanes]


@pytest.mark.parametrize(
    ("pci", "words", "bandwidth"),
    [
        ('link_speed="32.0 GT/s PCIe" link_width="255"', "no PCIe link has 255 lanes; taken for 16", 48e9),
        ('link_speed="32.0 GT/s PCIe" link_width="0"', "no PCIe link has 0 lanes", 48e9),
        ('link_speed="32.0 GT/s PCIe" link_width="3"', "no PCIe link has 3 lanes", 48e9),
        ('link_speed="7 GT/s" link_width="8"', "'7 GT/s' is no speed of PCIe", 6e9),
        ('link_speed="-8 GT/s" link_width="8"', "'-8 GT/s' is no speed of PCIe", 6e9),
        ('link_speed="fast" link_width="8"', "'fast' is no speed of PCIe", 6e9),
    ],
)
def test_a_pcie_link_that_cannot_be_is_taken_for_one_that_can(pci: str, words: str, bandwidth: float) -> None:
    t = warned(text(pci=pci), words)
    assert t.links["bandwidth"][t.links["src"] == 0].tolist() == [bandwidth]


@pytest.mark.parametrize("pci", ['link_speed="" link_width="0"', 'link_speed="Unknown" link_width="16"', ""])
def test_a_pcie_link_that_says_nothing_is_assumed_in_silence(pci: str) -> None:
    t = silent(text(pci=pci))
    assert t.links["bandwidth"][t.links["src"] == 0].tolist() == [12e9]


def test_a_seventh_generation_of_pcie_is_known() -> None:
    t = silent(text(pci='link_speed="128.0 GT/s PCIe" link_width="16"'))
    assert t.links["bandwidth"][t.links["src"] == 0].tolist() == [192e9]


def test_a_latency_of_seconds_is_no_latency() -> None:
    t = warned(text('speed="100000" latency="5000000"'), "a latency of 5 s is more than any network has")
    assert t.links["latency_s"][t.nics[0][2][0]] == 2.5e-6


@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        (
            '<nvlink target="0000:77:00.0" count="4" tclass="0x088000"/>',
            "of unknown class '0x088000'; left out",
        ),
        ('<nvlink target="0000:77:00.0" count="4"/>', "of unknown class ''; left out"),
        ('<nvlink target="fffffff:ff:ff.0" count="0" tclass="0x068000"/>', "no links, or links of 0 B/s"),
        ('<c2c bw="0" count="5"/>', "no links, or links of 0 B/s"),
    ],
)
def test_links_to_nowhere_and_no_links_are_left_out_with_a_warning(gpu: str, words: str) -> None:
    assert warned(text(gpu=gpu), words).link_count == 2


@pytest.mark.parametrize(
    "gpu",
    [
        '<nvlink target="fffffff:ff:ff.0" count="1000" tclass="0x068000"/>',
        '<xgmi target="0000:05:00.0" count="200" tclass="0x038000"/>',
        '<c2c bw="44712000" count="5"/>',
    ],
)
def test_more_than_any_gpu_has_is_refused(gpu: str) -> None:
    with pytest.raises(FormatError, match=r"line 3: <\w+>: expected at most 3.6 TB/s, more than any GPU has"):
        from_xml(text(gpu=gpu), "'x.xml'")


@pytest.mark.parametrize("attribute", ['link_width="-16"', 'link_width="many"'])
def test_widths_that_are_no_numbers_from_0_up_are_refused(attribute: str) -> None:
    with pytest.raises(FormatError, match="expected a number >= 0 as 'link_width'"):
        from_xml(text(pci=f'link_speed="32 GT/s" {attribute}'), "'x.xml'")


@pytest.mark.parametrize("speeds", [(10_000,), (10_000, 25_000), (100, 100, 100)])
def test_a_card_on_no_pcie_bus_carries_what_its_ports_carry_together(speeds: tuple[int, ...]) -> None:
    ports = "".join(f'<net name="eth{i}" speed="{speed}"/>' for i, speed in enumerate(speeds))
    t = silent(text().replace("</cpu>", f"<nic>{ports}</nic></cpu>"))
    (card,) = {int(t.links["src"][out]) for _, _, (out, *_) in t.nics}
    inwards = t.links[
        (t.links["src"] == card) & ~np.isin(np.arange(len(t.links)), [nic[2][0] for nic in t.nics])
    ]
    assert inwards["bandwidth"].tolist() == [sum(speeds) * 125e3]
