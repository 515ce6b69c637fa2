# SPDX-License-Identifier: Apache-2.0
"""A host is cut off while a training runs over it: both sides name the ranks that they no longer hear, and the one that
may not go on says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hemiola.cluster import Cluster
from permission import where_permitted

PROGRAM = str(Path(__file__).with_name("torch_cut_rank.py"))
LIMIT_S = 60.0


@pytest.mark.long
@pytest.mark.parametrize("model", ["ddp", "fsdp2"])
def test_ranks_of_a_training_name_those_on_the_other_side_of_a_cut(model: str) -> None:
    pytest.importorskip("torch", reason="needs PyTorch, whose training this is (pip install torch)")
    with where_permitted(), Cluster(2) as cluster:
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        ranks = [
            cluster.start(
                rank,
                [sys.executable, PROGRAM, str(rank), "2", model],
                env=environment,
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for rank in range(2)
        ]
        for rank in ranks:
            assert rank.stdout is not None
            assert rank.stdout.readline() == "trains\n", rank.communicate(timeout=LIMIT_S)
        cluster.set_link(1, up=False)
        for number, rank in enumerate(ranks):
            out, err = rank.communicate(timeout=LIMIT_S)
            assert rank.returncode == 0, err
            told = json.loads(out.splitlines()[-1])
            said = " ".join(told["raised"]) + told["message"]
            assert "RuntimeError" in told["raised"]
            assert "LostRankError" in said
            assert f"rank {1 - number}" in told["message"]
            # Half of the ranks go on where they have the lowest.
            assert told["goes_on"][:3] == (
                [] if number == 0 else ["MinorityError", "LostRankError", "HemiolaError"]
            )
            assert ("RuntimeError" in told["goes_on"]) == (number == 1)
            for word in ("Fatal", "terminate", "core dumped"):
                assert word not in err
