# SPDX-License-Identifier: Apache-2.0
"""Names ranks that die while a device waits for their messages. The host's control plane sees them, a device does
not."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from hemiola import environment
from hemiola.communicator import Communicator
from hemiola.communicator.messages import RESERVED_TAGS
from hemiola.errors import HemiolaError, LostRankError, TimeoutError

_TAG = RESERVED_TAGS + (1 << 41)
#: A message that nobody sends is awaited anew after so long.
_AWAITED_S = 3600.0


class DeviceGuard:
    """Waits in a thread for the loss of a rank. An emulated network, which has no messages, has no guard.

    Parameters
    ----------
    comm : Communicator.
    give_up : called once when a rank is lost, so that nobody waits for the device any more.
    """

    def __init__(self, comm: Communicator, give_up: Callable[[], None]) -> None:
        self._comm, self._give_up = comm, give_up
        self._lost: LostRankError | None = None
        self._is_over = threading.Event()
        thread = threading.Thread(target=self._watch, name="hemiola device guard", daemon=True)
        thread.start()

    def check(self) -> None:
        """Raise LostRankError where a rank is lost."""
        if self._lost is not None:
            raise _again(self._lost)

    def blamed(self) -> LostRankError | None:
        """Return which rank is lost, after a failure of the device's messages that may come of it. A wire may find its
        end before the control plane does, so this waits a moment."""
        self._is_over.wait(2 * environment.SILENCE.value())
        return None if self._lost is None else _again(self._lost)

    def _watch(self) -> None:
        core, room = self._comm._core, np.zeros(1, np.uint8)
        while not self._is_over.is_set():
            try:
                core.recv(room, None, _TAG, _AWAITED_S)  # nobody sends it: it ends as a rank does
            except TimeoutError:
                continue
            except LostRankError as error:
                self._lost = self._named(error)
                self._is_over.set()
                self._give_up()
            except HemiolaError:  # the communicator is closed, or has no messages
                return

    def _named(self, error: LostRankError) -> LostRankError:
        reason = "is lost" if error.cause is None else error.cause.reason
        named = LostRankError(
            f"rank {error.rank} {reason}: operations of tensors on a device cannot go on. docs/how-to/failures.md says "
            "how the ranks that are left can go on.",
            error.rank,
            error.world_rank,
        )
        named.cause = error.cause
        return named


def _again(lost: LostRankError) -> LostRankError:
    """Return an error of its own for each operation, which has a traceback of its own."""
    error = LostRankError(str(lost), lost.rank, lost.world_rank)
    error.cause = lost.cause
    return error
