# SPDX-License-Identifier: Apache-2.0
"""A collective as a group asks its communicator for it: made, and then run, started or only looked at."""

from __future__ import annotations

from typing import Any

from hemiola.communicator import Communicator


class Call:
    """The name of a collective with its arguments, apart from its time limit and from how it is waited for."""

    __slots__ = ("arguments", "name", "options")

    def __init__(self, name: str, *arguments: Any, **options: Any) -> None:
        self.name, self.arguments, self.options = name, arguments, options

    def run(self, comm: Communicator, limit_s: float | None) -> None:
        """Run it, and return once it is over."""
        getattr(comm, self.name)(*self.arguments, **self.options, timeout_s=limit_s)

    def start(self, comm: Communicator, limit_s: float | None) -> Any:
        """Start it in the background, and return its Handle."""
        return getattr(comm, f"start_{self.name}")(*self.arguments, **self.options, timeout_s=limit_s)
