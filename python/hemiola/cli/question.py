# SPDX-License-Identifier: Apache-2.0
"""The question as documents of --json repeat it: the network, its file, the options that change it, the conditions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from hemiola._core import Topology
from hemiola.cli.option_groups import LinkChanges, LinkSpeeds
from hemiola.cli.output import printable
from hemiola.cli.values import slow_as_data
from hemiola.conditions import Conditions


def network_asked(
    topology: Topology | None, file: Path | None, *changed_by: LinkChanges | LinkSpeeds
) -> dict[str, Any]:
    """Return the topology's name, its file, and the options that change it; no name and no file for this machine."""
    options = {name: value for group in changed_by for name, value in asdict(group).items()}
    return {
        "topology": None if topology is None else topology.name,
        "topology_file": None if file is None else printable(str(file)),
        "topology_options": options,
    }


def conditions_asked(conditions: Conditions, network: str = "fluid") -> dict[str, Any]:
    """Return late ranks in seconds, slow ones by factor, the density, and the network model of simulations."""
    return {
        "late": {str(rank): time for rank, time in conditions.late.items()},
        "slow": slow_as_data(conditions),
        "density": conditions.density,
        "network": network,
    }
