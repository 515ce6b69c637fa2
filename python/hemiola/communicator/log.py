"""What HEMIOLA_LOG makes visible: the logger "hemiola", on standard error."""

from __future__ import annotations

import logging
from collections.abc import Sequence

_logger = logging.getLogger("hemiola")


def begin_logging(level: str | None) -> None:
    """Write what the logger "hemiola" is told from a level on; None leaves it to the program's own settings."""
    if level is None:
        return
    _logger.setLevel(level.upper())
    if not _logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("hemiola %(levelname)s: %(message)s"))
        _logger.addHandler(handler)


def log_carriers(ranks: Sequence[int], self: int, carriers: Sequence[str]) -> None:
    """Say at debug level by what a rank exchanges messages with each other one.

    Parameters
    ----------
    ranks : the communicator's, by their numbers in the job.
    self : index of this rank.
    carriers : by rank, in words.
    """
    if not _logger.isEnabledFor(logging.DEBUG):
        return
    by_carrier: dict[str, list[str]] = {}
    for index, carrier in enumerate(carriers):
        if index != self:
            by_carrier.setdefault(carrier, []).append(str(ranks[index]))
    ways = "; ".join(f"{carrier} to {', '.join(peers)}" for carrier, peers in by_carrier.items())
    _logger.debug("rank %d of a communicator of %d: %s", ranks[self], len(ranks), ways or "alone")
