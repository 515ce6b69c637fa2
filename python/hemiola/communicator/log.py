# SPDX-License-Identifier: Apache-2.0
"""Makes HEMIOLA_LOG's messages visible: the logger "hemiola", on standard error."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from hemiola._core import Communicator
from hemiola.communicator.epochs import Epoch
from hemiola.side_channel import log
from hemiola.units import format_seconds

_logger = logging.getLogger("hemiola")


def begin_logging(level: str | None) -> None:
    """Write the messages of the logger "hemiola" from a level on; None leaves it to the program's own settings."""
    if level is None:
        return
    _logger.setLevel(level.upper())
    if not _logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("hemiola %(levelname)s: %(message)s"))
        _logger.addHandler(handler)


def log_carriers(core: Communicator, ranks: Sequence[int]) -> None:
    """Log at debug level the wire between this rank and each other one; `ranks` are their numbers in the job."""
    if not _logger.isEnabledFor(logging.DEBUG):
        return
    by_carrier: dict[str, list[str]] = {}
    for index, carrier in enumerate(core.carriers()):
        if index != core.rank:
            by_carrier.setdefault(carrier, []).append(str(ranks[index]))
    ways = "; ".join(f"{carrier} to {', '.join(peers)}" for carrier, peers in by_carrier.items())
    log(logging.DEBUG, "rank %d of a communicator of %d: %s", ranks[core.rank], len(ranks), ways or "alone")


def log_epoch(epoch: Epoch) -> None:
    """Log a change of members."""
    took, count = format_seconds(epoch.took_s), len(epoch.ranks)
    log(logging.INFO, "epoch %d of %d ranks after %s: %s", epoch.number, count, took, epoch)
