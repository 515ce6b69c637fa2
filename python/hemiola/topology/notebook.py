# SPDX-License-Identifier: Apache-2.0
"""A topology as a notebook shows it: its size, and its kinds of links."""

from __future__ import annotations

from html import escape

from hemiola._core import Topology
from hemiola.topology.summary import link_kinds, size_in_words
from hemiola.units import format_bandwidth, format_seconds

#: Kinds of links that are listed, the fastest first.
_MOST_KINDS = 16


def html_of(topology: Topology) -> str:
    """Return a table of the kinds of links, for notebooks."""
    kinds = link_kinds(topology)
    rows = "".join(
        f"<tr><td>{kind.ends}</td><td>{kind.count:,}</td><td>{format_bandwidth(kind.bandwidth)}</td>"
        f"<td>{format_seconds(kind.latency_s)}</td></tr>"
        for kind in kinds[:_MOST_KINDS]
    )
    head = "<thead><tr><th>links</th><th>count</th><th>bandwidth</th><th>latency</th></tr></thead>"
    name = f"{escape(topology.name)}: " if topology.name else ""
    hidden = len(kinds) - _MOST_KINDS
    more = f"<p>and {hidden:,} more kind{'' if hidden == 1 else 's'} of links</p>" if hidden > 0 else ""
    return f"<p>{name}{size_in_words(topology)}</p><table>{head}<tbody>{rows}</tbody></table>{more}"
