# SPDX-License-Identifier: Apache-2.0
"""Local ranks started from Python: `launch` calls a function in processes of their own and returns their results.

Outside, `hemiola.launch` is that function; this package holds its parts. It is loaded when it is first asked for:
agents and commands, which start programs, have no use for it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hemiola.launch.local_ranks import launch

__all__ = ["launch"]


def __getattr__(name: str) -> Any:
    if name != "launch":
        raise AttributeError(f"module 'hemiola.launch' has no attribute '{name}'")
    from hemiola.launch import local_ranks

    return local_ranks.launch
