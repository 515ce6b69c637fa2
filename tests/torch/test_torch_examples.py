# SPDX-License-Identifier: Apache-2.0
"""The examples for PyTorch, started as their first lines say."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from of_pytorch import needs_backends_loaded

pytestmark = needs_backends_loaded
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LIMIT_S = 120
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


def output_of(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*TORCHRUN, *arguments], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.long
def test_fsdp2_holds_half_of_the_parameters_and_learns() -> None:
    said = output_of(str(EXAMPLES / "fsdp2.py")).stdout
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", said)]
    assert len(losses) == 2
    assert losses[1] < losses[0] < 6  # ln 256 is 5.5
    [(held, whole)] = re.findall(r"holds (\d+) of (\d+)", said)
    assert int(held) == int(whole) / 2
    assert f"the checkpoint has {whole}" in said


@pytest.mark.long
def test_pruned_gradients_send_a_hundredth_and_learn() -> None:
    said = output_of(str(EXAMPLES / "pruned.py")).stdout
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", said)]
    assert len(losses) == 3
    assert losses[2] < losses[0] < 6
    [(sent, whole)] = re.findall(r"sent (\d+) of (\d+)", said)
    assert int(sent) == pytest.approx(int(whole) / 100, rel=0.15)


@pytest.mark.long
def test_an_elastic_training_ends_as_one_that_nobody_has_disturbed() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "elastic.py")], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert "step 60: B is killed" in said
    assert re.search(r"step \d+: D is rank 2 of 3", said)
    assert "step 200: A has left" in said
    assert "step 299: D is rank 1 of 2" in said
    apart = re.findall(r"([CD]): (\S+) from a training that nobody has disturbed", said)
    assert sorted(process for process, _ in apart) == ["C", "D"]
    assert all(float(distance) < 1e-9 for _, distance in apart)


SINGLE_AGENT = [*TORCHRUN[:-1], "--nproc-per-node=1", "--max-restarts=0"]
OWN_RANK = """
import os, signal, sys
import torch
import hemiola as hm
from hemiola.torch.elastic import Training

name, number = sys.argv[1], int(sys.argv[2])
module = torch.nn.Linear(2, 1)
comm = hm.Communicator.join(number, 2, name) if number < 2 else hm.join(name)
training = Training(comm, module, torch.optim.SGD(module.parameters(), lr=0.1))


def gradients(model, step):
    if number == 1 and step == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    model(torch.ones(1, 2)).sum().backward()


while True:
    for _ in training.steps(gradients, until=(training.step // 10 + 1) * 10):
        pass
    if training.rank_count == 2:  # rank 1 has died at step 5, and the newcomer is here
        break
print(f"process {number}: {training.rank_count} ranks at the end")
torch.distributed.destroy_process_group()
"""


@pytest.mark.long
def test_a_rank_under_an_agent_of_its_own_is_replaced(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(OWN_RANK)
    name = f"elastic-{uuid.uuid4().hex}"
    agents = [
        subprocess.Popen(
            [*SINGLE_AGENT, str(script), name, str(number)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    try:
        said = [agent.communicate(timeout=LIMIT_S) for agent in agents]
    finally:
        for agent in agents:
            agent.kill()
    assert [agent.returncode for agent in agents] == [0, 1, 0], said
    assert "Signal 9 (SIGKILL)" in said[1][1]
    assert "process 0: 2 ranks at the end" in said[0][0]
    assert "process 2: 2 ranks at the end" in said[2][0]
