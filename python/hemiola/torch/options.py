"""What `init_process_group` and `new_group` take as `pg_options`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Options:
    """Options of a group, the same on all its ranks.

    Parameters
    ----------
    keep_inputs : bool. Whether a failure in the middle of an operation in place leaves its input as it was. It costs
        a private copy of what is overwritten; without it a failed operation's tensor is undefined, as elsewhere.
    """

    keep_inputs: bool = False
