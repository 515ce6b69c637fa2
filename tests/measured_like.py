# SPDX-License-Identifier: Apache-2.0
"""Messages as ranks would have recorded them in a run that differs from its prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

import hemiola as hm
from hemiola.transfers.recorded import TRANSFER_DTYPE


def measured_like(timeline: hm.Timeline, seed: int = 1) -> list[Any]:
    """Return messages of a run that took each message 1 to 1.5 times as long as the prediction: as many digits as real
    times have."""
    messages, draws = timeline.messages, np.random.default_rng(seed)
    ranks = []
    for rank in range(len(timeline.finish_s)):
        for sent in (True, False):
            own = messages[messages["src" if sent else "dst"] == rank]
            rows = np.zeros(len(own), TRANSFER_DTYPE)
            for name in ("step", "src", "dst", "chunk", "chunk_count", "reduce"):
                rows[name] = own[name]
            rows["sent"] = sent
            rows["begin_s"] = own["begin_s"] * 1.25
            end = own["leave_s" if sent else "land_s"]
            rows["end_s"] = rows["begin_s"] + (end - own["begin_s"]) * draws.uniform(1, 1.5, len(own))
            ranks.append(rows)
    return [np.concatenate(ranks[2 * rank : 2 * rank + 2]) for rank in range(len(ranks) // 2)]
