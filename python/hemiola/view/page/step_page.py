# SPDX-License-Identifier: Apache-2.0
"""The numbers of a page about a predicted training step: its bars, its collectives, and other libraries' times."""

from __future__ import annotations

from typing import Any

from hemiola.errors import ArgumentError
from hemiola.view.page.packing import MOST_RANKS, MOST_ROWS, column, ticks
from hemiola.workload import WhatIf
from hemiola.workload.bars import KINDS, bars_of, question_in_words, rows_of
from hemiola.workload.prediction import size_in_words


def step_data(found: WhatIf, title: str) -> dict[str, Any]:
    """Return all that the page knows of a step; raise ArgumentError for one that takes no time or is too large."""
    rows, bars = rows_of(found), list(bars_of(found))
    if len(rows) > MOST_RANKS or len(bars) > MOST_ROWS:
        raise ArgumentError(
            f"a page shows at most {MOST_RANKS:,} streams and {MOST_ROWS:,} tasks of a step, found {len(rows):,} and "
            f"{len(bars):,}; predict fewer micro-batches"
        )
    if not bars:
        raise ArgumentError("expected a step that takes time, found one of 0 s")
    texts = list(dict.fromkeys(bar.text for bar in bars))
    text_of, row_of = ({one: place for place, one in enumerate(all_)} for all_ in (texts, rows))
    length = found.seconds
    return {
        "kind": "step",
        "title": title or f"{found.name}: a step, predicted",
        "subtitle": question_in_words(found),
        "length": length,
        "bound": found.bound_s,
        "ranks": len(rows),
        "labels": [f"{role}: {stream}" for role, stream in rows],
        "result": found.explain().splitlines()[0],
        "limit": found.limit,
        "assumptions": found.assumptions,
        "libraries": [[name, seconds, found.gains[name]] for name, seconds in found.others.items()],
        "calls": [
            {
                "what": f"{call.kind} ({call.group})",
                "size": size_in_words(call),
                "ranks": call.rank_count,
                "count": call.count,
                "algorithm": call.algorithm,
                "each": call.seconds,
                "bound": call.bound_s,
                "exposed": call.exposed_s,
            }
            for call in found.calls
        ],
        "texts": texts,
        "kinds": KINDS,
        "row": column([row_of[bar.row] for bar in bars]),
        "barKind": column([KINDS.index(bar.kind) for bar in bars]),
        "text": column([text_of[bar.text] for bar in bars]),
        "begin": column(ticks([bar.begin_s for bar in bars], length)),
        "end": column(ticks([bar.end_s for bar in bars], length)),
    }
