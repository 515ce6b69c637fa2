# SPDX-License-Identifier: Apache-2.0
"""The numbers of a page about a job: its ranks' latest operations, who came late to them, and who failed first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hemiola.diagnosis.recorded_job import STATES, RecordedJob
from hemiola.errors import ArgumentError
from hemiola.view.page.packing import MOST_RANKS, MOST_ROWS, column, ticks

#: Operations with the latest ranks that the page lists.
_MOST_LISTED = 100


def job_data(folder: Path, title: str) -> dict[str, Any]:
    """Return all that the page knows of the records in a folder."""
    job = RecordedJob.read(folder)
    operations = job.operations
    ranks, rows = job.members[-1] + 1, len(operations) + len(job.messages)
    if ranks > MOST_RANKS or rows > MOST_ROWS:
        raise ArgumentError(
            f"a page shows at most {MOST_RANKS:,} ranks and {MOST_ROWS:,} operations and messages, found {ranks:,} and "
            f"{rows:,}; leave the other ranks' files out of the folder"
        )
    length = max(job.seconds, 1e-9)
    kinds, groups = (sorted({getattr(one, of) for one in operations}) for of in ("kind", "group"))
    late = [
        {"rank": one.rank, "late": one.late_s, "at": one.at_s, "what": one.name, "group": one.group}
        for one in job.late_calls
    ]
    return {
        "kind": "job",
        "title": title or f"job in {folder.name or folder}",
        "subtitle": job.summary,
        "length": length,
        "ranks": ranks,
        "missing": list(job.missing),
        "first": job.failed_first,
        "findings": [{"at": one.at_s, "rank": one.rank, "text": one.text} for one in job.findings],
        "late": late[:_MOST_LISTED],
        "lateCounts": job.late_ranks,
        "count": len(operations),
        "kinds": kinds,
        "groups": groups,
        "states": STATES,
        "errors": {str(i): one.error for i, one in enumerate(operations) if one.error},
        "rank": column([one.rank for one in operations]),
        "number": column([one.number for one in operations]),
        "opKind": column([kinds.index(one.kind) for one in operations]),
        "opGroup": column([groups.index(one.group) for one in operations]),
        "opState": column([STATES.index(one.state) for one in operations]),
        "called": column(ticks([one.called_s for one in operations], length)),
        "began": column(ticks([one.began_s for one in operations], length)),
        "ended": column(ticks([one.ended_s for one in operations], length)),
        **_messages(job, length),
    }


def _messages(job: RecordedJob, length: float) -> dict[str, Any]:
    """Return a row per recorded message of each end, by its beginning; one that had not ended lasts to the end."""
    ends = [length if one.ended_s is None else one.ended_s for one in job.messages]
    begins = [min(max(one.began_s, 0.0), length) for one in job.messages]
    return {
        "messageCount": len(job.messages),
        "ofRank": column([one.rank for one in job.messages]),
        "peer": column([one.dst if one.rank == one.src else one.src for one in job.messages]),
        "sent": column([one.rank == one.src for one in job.messages]),
        "open": column([one.ended_s is None for one in job.messages]),
        "step": column([one.step for one in job.messages]),
        "chunk": column([one.chunk for one in job.messages]),
        "posted": column(ticks(begins, length)),
        "done": column(ticks(np.clip(ends, 0.0, length), length)),
    }
