# SPDX-License-Identifier: Apache-2.0
"""How commands that show a schedule report its violations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from hemiola._core import Violation

if TYPE_CHECKING:
    from hemiola.interchange.artefact import Fault


def violation_data(violation: Violation | Fault) -> dict[str, Any]:
    """Return a violation as JSON has it."""
    return {
        "rule": violation.rule,
        "step": violation.step,
        "rank": violation.rank,
        "chunk": violation.chunk,
        "message": violation.message,
    }


def warning(name: str, violation: Violation) -> Text:
    """Say that a schedule that is shown all the same is wrong, and where first."""
    return Text.assemble(
        ("wrong    ", "bold red"),
        f"{name} does not keep its collective's promise; what it breaks first:\n",
        ("         " + violation.rule, "bold"),
        f" at step {violation.step}, rank {violation.rank}, chunk {violation.chunk}: {violation.message}\n",
        ("         hemiola verify shows the rest", "dim"),
    )
