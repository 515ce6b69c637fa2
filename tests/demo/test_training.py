# SPDX-License-Identifier: Apache-2.0
"""The demo's promise, on a small network: several ranks train exactly as one process does, and a difference is told."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hemiola as hm
from hemiola.demo import show
from hemiola.demo.training import Digits, Task, batches, train_alone
from hemiola.errors import ArgumentError

SMALL = Task(widths=(64, 12, 10), epochs=3)


def refuse_and_train(digits: Digits) -> show.Timed:
    with pytest.raises(ArgumentError):
        show._train_rank(replace(SMALL, batch=255), digits, 15)  # which two ranks cannot share
    return show._train_rank(SMALL, digits, 15)


def test_two_ranks_refuse_a_batch_that_they_cannot_share_and_lose_what_one_process_loses() -> None:
    digits = Digits.load()
    alone = train_alone(SMALL, digits, lambda: None)
    together = [report.run for report in hm.launch(refuse_and_train, 2, digits)]
    np.testing.assert_allclose(together[0].losses, alone.losses, atol=1e-12)
    # Bit for bit the same on both ranks; each rank's own last gradient is its share's.
    assert together[0].losses == together[1].losses
    np.testing.assert_allclose((together[0].gradient + together[1].gradient) / 2, alone.gradient, atol=1e-12)
    assert alone.losses[-1] < alone.losses[0]


def test_batches_hold_each_image_at_most_once_an_epoch() -> None:
    # 1,437 training images make 5 batches of 256; three epochs make 15.
    seen = list(batches(SMALL, len(Digits.load().images)))
    assert len(seen) == 15
    assert len(np.unique(np.concatenate(seen[:5]))) == 5 * 256


def test_held_out_images_are_not_trained_on() -> None:
    digits = Digits.load()
    assert len(digits.images) + len(digits.held_out_images) == 1797
    assert digits.images.max() <= 1.0


@pytest.mark.parametrize(("error", "code"), [(0.0, 0), (2e-6, 1)])
def test_the_demo_fails_where_losses_differ(
    error: float,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def launch_here(fn, ranks, task, digits, steps):
        run = train_alone(task, digits, lambda: None)
        shifted = replace(run, losses=[loss + error for loss in run.losses])
        return [show.Timed(shifted, 1.0)] * ranks

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(show, "Task", lambda: SMALL)
    monkeypatch.setattr(show, "launch", launch_here)
    monkeypatch.setattr(show, "_time_gradient", lambda console: 0)
    assert show.main() == code
    assert ("disagree" in capsys.readouterr().out) == bool(code)
    assert (tmp_path / "demo-output" / "losses.png").stat().st_size > 1000
