# SPDX-License-Identifier: Apache-2.0
"""The sections of SpCCL's report that measure between hosts, in small."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from papers.report import Report
from papers.spccl import measured
from permission import where_permitted

HOSTS = measured.Hosts(2, 100)
BETWEEN_HOSTS = {
    "measured": partial(measured.measured, hosts=HOSTS, nbytes=1 << 16, turns=2),
    "measured_sparsities": partial(
        measured.measured_sparsities, hosts=HOSTS, nbytes=1 << 16, turns=2, pairs=2, sparsities=(0.99,)
    ),
    "measured_training": partial(
        measured.measured_training, hosts=HOSTS, widths=(64, 8, 10), steps=2, batch=8
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("section", BETWEEN_HOSTS)
def test_a_section_measures_between_hosts(section: str, tmp_path: Path) -> None:
    report = Report("small", "Small", tmp_path)
    with where_permitted():
        BETWEEN_HOSTS[section](report, "the command")
    report.write()
    assert report.data
    assert "load average" in report.path.read_text(encoding="utf-8")
