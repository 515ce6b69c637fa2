# SPDX-License-Identifier: Apache-2.0
"""Trainings by PyTorch's own parallel wrappers give the losses on "hemiola" that they give on gloo."""

from __future__ import annotations

import pytest
from forked import run
from of_pytorch import HAS_FSDP2

RANKS = 2
TRAININGS = ["ddp", *(["fsdp2"] if HAS_FSDP2 else []), "functional"]


def test_trainings_equal_gloos_to_six_digits_and_reach_no_gloo() -> None:
    found = run("training_ranks", [*TRAININGS, "inner_collectives"], RANKS, "hemiola,gloo")
    for training in TRAININGS:
        for ours, theirs in found[training]:
            assert len(ours) >= 5
            assert ours == pytest.approx(theirs, rel=1e-6, abs=0)
    for inside, of_gloo in found["inner_collectives"]:
        assert inside == 0
        assert of_gloo > 20
