# SPDX-License-Identifier: Apache-2.0
"""The pictures of the docs: every one is shown, and pages to explore are photographed."""

from __future__ import annotations

import shutil
from pathlib import Path

import code_blocks
import matplotlib.image
import numpy as np
import pytest
import site_pictures
from pages import ROOT

import hemiola as hm

SHOWN = {picture for page in code_blocks.documents() for picture in code_blocks.pictures(page)}


def test_every_picture_is_shown_and_every_page_with_pictures_makes_its_own() -> None:
    kept = {path for path in (ROOT / "docs/pictures").rglob("*") if path.is_file()}
    assert kept <= SHOWN
    for page in code_blocks.documents():
        assert {picture.parent.name for picture in site_pictures.remade(page)} <= {page.stem}


def test_a_page_to_explore_is_photographed_in_the_middle_of_its_time(tmp_path: Path) -> None:
    if not any(map(shutil.which, site_pictures._BROWSERS)):
        pytest.skip("no Chromium on the PATH")
    switch = hm.topologies.switch(4, latency_s=1e-6, bandwidth=1e9)
    hm.explore(hm.algorithms.all_reduce_ring(4), tmp_path / "ring.html", switch, 1 << 20)
    picture = tmp_path / "made/ring.png"
    site_pictures.make(picture, tmp_path)
    pixels = matplotlib.image.imread(picture)
    assert pixels.shape[:2] == (800, 1280)
    lanes = pixels[450:750, 150:1200, :3]
    assert len(np.unique(lanes.reshape(-1, 3), axis=0)) > 8  # bars of several colours, on a background
