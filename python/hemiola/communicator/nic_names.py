# SPDX-License-Identifier: Apache-2.0
"""The system's name of the NIC by which this host's ranks reach other hosts."""

from __future__ import annotations

from hemiola import environment
from hemiola.environment.interfaces import reachable_addresses
from hemiola.errors import ArgumentError


def nic_name() -> str:
    """Return the interface's name; of several that ranks may use, all of them, and nothing where there is none."""
    try:
        found = reachable_addresses(environment.INTERFACE.value(), environment.IP_FAMILY.value())
    except ArgumentError:
        return ""
    return ", ".join(dict.fromkeys(local.interface for local in found))
