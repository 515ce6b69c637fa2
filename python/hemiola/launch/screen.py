# SPDX-License-Identifier: Apache-2.0
"""The printed report of a failed job: the culprit's traceback, one line for all ranks with the same consequence, and
the cause again at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hemiola.launch.culprit import Failure, Outcome, culprit_of, ended_in_words
from hemiola.launch.held_traceback import error_of

#: Consequences that are told apart; the rest is counted.
_MOST_CONSEQUENCES = 5
_MOST_LETTERS = 300


def screen_of(outcome: Outcome, *, labels: bool, is_verbose: bool) -> Iterator[str]:
    """Yield the lines for a failed job.

    Parameters
    ----------
    outcome : with at least one failure.
    labels : whether lines of a rank begin with its number.
    is_verbose : whether tracebacks have been printed already.
    """
    culprit = culprit_of(outcome.failures)
    cause = f"hemiola: {outcome.in_words()}"
    if culprit not in outcome.texts:
        yield cause
    if not is_verbose:
        # One that stands still has no traceback: where it was waited for says at least which operation it missed.
        has_ended = any(failure.rank == culprit for failure in outcome.failures)
        first = min(outcome.failures, key=lambda failure: failure.ended_s).rank
        told = culprit if has_ended else first
        for line in outcome.texts.get(told, "").splitlines():
            yield f"[{told}] {line}" if labels else line
    others = [f"hemiola: {line}" for line in consequences(outcome)]
    yield from others
    if others or culprit in outcome.texts:
        yield cause


def consequences(outcome: Outcome) -> list[str]:
    """Return a line for all ranks but the culprit that ended alike: "ranks 0-4: LostRankError: rank 5 has died".

    Parameters
    ----------
    outcome : with at least one failure.
    """
    culprit = culprit_of(outcome.failures)
    by_rank = {failure.rank: failure for failure in (*outcome.late, *outcome.failures)}
    alike: dict[str, list[int]] = {}
    for rank in sorted(by_rank.keys() - {culprit}):
        alike.setdefault(_consequence(by_rank[rank], outcome), []).append(rank)
    groups = sorted(alike.items(), key=lambda item: (-len(item[1]), item[1]))
    told = [f"{ranks_in_words(ranks)}: {what}" for what, ranks in groups[:_MOST_CONSEQUENCES]]
    others = sorted(rank for _, ranks in groups[_MOST_CONSEQUENCES:] for rank in ranks)
    return [*told, f"{ranks_in_words(others)}: other errors"] if others else told


def _consequence(failure: Failure, outcome: Outcome) -> str:
    error = error_of(outcome.texts.get(failure.rank, ""))
    cause = failure.cause
    if cause is not None and cause.rank != failure.rank:
        kind = f"{error.partition(':')[0]}: " if error else ""
        error = f"{kind}rank {cause.rank} {outcome.exact(cause.rank, cause.reason)}"
    return (error or ended_in_words(failure.code or 0))[:_MOST_LETTERS]


def ranks_in_words(ranks: Sequence[int]) -> str:
    """Return sorted numbers as "rank 3" or "ranks 0-4, 6, 7"."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    words = (f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {', '.join(words)}"
