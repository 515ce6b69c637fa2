# SPDX-License-Identifier: Apache-2.0
"""The bytes that a communicator's wire has carried, as the wire itself counts them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Traffic:
    """Bytes of a communicator's operations between one rank and the others, as `Communicator.traffic` returns them.

    Attributes
    ----------
    sent_bytes : tuple of int, by rank: the bytes that this rank has sent there. Payload, without headers. A sparse
        collective counts the bytes sent, not the dense array's.
    received_bytes : tuple of int, by rank: the bytes that have come from there.
    carriers : tuple of str, by rank: the wire that carries them, such as "shm" or "tcp"; empty for this rank itself.
    added_forms : dict of str to int, by format of `hm.codecs`: how many slices of this rank's values went in it for
        receivers to add, as in a reduce-scatter. Only of collectives whose messages leave zeros out: one that ran dense
        as a whole counts nothing, a value that went plain in a sparse one counts as "dense".
    copied_forms : the same of values that receivers keep as they come, as in an all-gather.
    """

    sent_bytes: tuple[int, ...]
    received_bytes: tuple[int, ...]
    carriers: tuple[str, ...]
    added_forms: dict[str, int]
    copied_forms: dict[str, int]

    def __hash__(self) -> int:
        return hash((self.sent_bytes, self.received_bytes, self.carriers))

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes by name, for JSON.

        Returns
        -------
        dict of str to tuple of int or str, or to dict of str to int.
        """
        return asdict(self)
