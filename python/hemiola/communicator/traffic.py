"""What a communicator's wire has carried, as the wire itself counts it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Traffic:
    """Bytes of a communicator's operations between one rank and the others; what `Communicator.traffic` returns.

    Attributes
    ----------
    sent_bytes : tuple of int, by rank: what this rank has sent there. Payload: without headers, and of a sparse
        collective what was sent, not what it stands for.
    received_bytes : tuple of int, by rank: what has come from there.
    carriers : tuple of str, by rank: what carries it, such as "shm" or "tcp"; empty for this rank itself.
    """

    sent_bytes: tuple[int, ...]
    received_bytes: tuple[int, ...]
    carriers: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes by name, for JSON.

        Returns
        -------
        dict of str to tuple of int or str.
        """
        return asdict(self)
