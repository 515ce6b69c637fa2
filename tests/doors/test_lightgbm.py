# SPDX-License-Identifier: Apache-2.0
"""LightGBM on Hemiola: the models of its own sockets, and ranks that die."""

from __future__ import annotations

import socket

import boosting_ranks as ranks
import pytest

import hemiola as hm


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens at."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.mark.parametrize(
    ("rank_count", "learner", "objective"),
    [
        (2, "data", "regression"),
        pytest.param(5, "data", "wide", marks=pytest.mark.long),
        pytest.param(2, "data", "quantized", marks=pytest.mark.long),
        pytest.param(4, "data", "binary", marks=pytest.mark.long),
        pytest.param(2, "voting", "binary", marks=pytest.mark.long),
        pytest.param(3, "voting", "regression", marks=pytest.mark.long),
    ],
)
def test_a_model_has_the_bits_of_that_of_sockets(rank_count: int, learner: str, objective: str) -> None:
    ours = hm.launch(ranks.trained, rank_count, learner, objective, 10, [], timeout_s=120)
    theirs = hm.launch(
        ranks.trained, rank_count, learner, objective, 10, free_ports(rank_count), timeout_s=120
    )
    assert (
        learner == "voting" or len(set(ours)) == 1
    )  # voting ranks differ in what they write down, over sockets too
    assert "num_leaves=31" in ours[0]
    assert ours == theirs


@pytest.mark.parametrize("after", [-1, 3])
def test_every_survivor_raises_an_error_that_names_the_rank_that_was_killed(after: int) -> None:
    found = hm.launch(ranks.trained_until_lost, 3, after, on_failure="continue", timeout_s=120)
    for kinds, text, cause, _ in found[:2]:
        assert {"NetworkError", "LightGBMError", "RuntimeError"} <= set(kinds)
        assert "rank 2 has died" in text
        assert cause == "LostRankError"


def test_ranks_with_other_columns_raise_an_error_of_lightgbm() -> None:
    for kinds, text in hm.launch(ranks.train_on_unequal_features, 2, timeout_s=60):
        assert "LightGBMError" in kinds
        assert text


def test_the_learner_that_lightgbm_refuses_is_refused_by_lightgbm() -> None:
    with pytest.raises(hm.FailedRankError, match="Do not support feature parallel in c api"):
        hm.launch(ranks.trained, 2, "feature", "regression", 2, [], timeout_s=60)
