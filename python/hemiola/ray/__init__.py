# SPDX-License-Identifier: Apache-2.0
"""The backend "HEMIOLA" of ray.util.collective: docs/how-to/ray.md.

Ray keeps its backends in each process, so every actor calls `register`, and so does a driver that declares groups."""

from hemiola.environment.packages import require

require("ray")

from ray.util.collective.backend_registry import BackendRegistry, register_collective_backend

from hemiola.ray.group import NAME, HemiolaGroup

__all__ = ["HemiolaGroup", "register"]


def register() -> None:
    """Make the backend "HEMIOLA" known to Ray in this process; again is without effect.

    Raises
    ------
    ValueError of Ray's
        where another class has that name.
    """
    registry = BackendRegistry()
    if not registry.is_registered(NAME) or registry.get(NAME) is not HemiolaGroup:
        register_collective_backend(NAME, HemiolaGroup)
