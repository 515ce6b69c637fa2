# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/failures.md keeps its word: its Python runs, and jobs that lose a rank go on as it says."""

import re
import textwrap
from pathlib import Path

import pytest
from printed_scripts import printed_by

PAGE = (Path(__file__).parent.parent.parent / "docs/how-to/failures.md").read_text()
SURVIVORS, TRAINING = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

#: What the training loop takes from the program around it: one weight, and a batch per step, of which the gradient is
#: the rank's number. Rank 1 dies in step 3.
AROUND = """
import os

steps, batches = 6, [1.0] * 6


def load_checkpoint():
    return 0, np.zeros(1)


def backward(weights, batch):
    backward.calls += 1
    rank = int(os.environ["HEMIOLA_RANK"])
    if rank == 1 and backward.calls == 4:
        os._exit(1)
    return batch * np.full(1, float(rank))


backward.calls = 0


def update(weights, gradient):
    return weights + gradient


def log(text):
    print(text + "\\n", end="", flush=True)  # in one piece, beside those of other ranks


def rebalance(batches, rank, rank_count):
    assert 0 <= rank < rank_count == 3


def train():
"""
LAUNCHED = """
    return step, float(weights[0]), comm.rank_count


if __name__ == "__main__":
    print(hm.launch(train, 4, on_failure="continue", timeout_s=100))
"""


def test_survivors_go_on(tmp_path: Path) -> None:
    last = printed_by(SURVIVORS, tmp_path).splitlines()[-1]
    assert last.count("(3.0, 3)") == 3
    assert last.count("FailedRankError") == 1


@pytest.mark.parametrize("block", [SURVIVORS, TRAINING])
def test_every_block_is_python(block: str) -> None:
    compile(block, "docs/how-to/failures.md", "exec")


def test_the_training_loop_goes_on_without_a_rank_and_loses_no_step(tmp_path: Path) -> None:
    functions = SURVIVORS.split('if __name__ == "__main__":')[0]
    out = printed_by(functions + AROUND + textwrap.indent(TRAINING, "    ") + LAUNCHED, tmp_path)
    *logged, last = out.splitlines()
    assert {line.split(" in step ")[0] for line in logged} == {"lost rank 1"}
    assert last.count("FailedRankError") == 1
    finished = set(re.findall(r"\((\d+), ([\d.]+), (\d+)\)", last))
    assert len(re.findall(r"\(6, [\d.]+, 3\)", last)) == 3
    assert len(finished) == 1
    # The average of ranks 0 to 3 is 1.5, of the survivors 5/3; one may learn of the death before it has
    # finished step 2.
    ((_, weight, _),) = finished
    assert any(float(weight) == pytest.approx(1.5 * before + 5 / 3 * (6 - before)) for before in (2, 3))
