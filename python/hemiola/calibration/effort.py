# SPDX-License-Identifier: Apache-2.0
"""How long to measure: everything that can be found out, or only as much as a start-up has time for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    chain_s, chain_repeats : how long a chain takes, and how often it is timed.
    at_once : the number of others that each rank of a chain sends to at once.
    stream_s : how long a first, short stream takes at least on every rank.
    longer : how many times longer the second stream is, which counts.
    meetings : with how many other nodes each measures its NICs.
    is_thorough : whether any ranks of a node may turn out to share a NIC, a message to cost a rank that is alone
        less, and nodes meet others until the slow NICs are known. Otherwise neighbours share NICs, as many each as
        the first rank's seems to have.
    """

    chain_s: float
    chain_repeats: int
    at_once: int
    stream_s: float
    longer: int
    meetings: int
    is_thorough: bool


THOROUGH = Effort(
    chain_s=25e-3, chain_repeats=3, at_once=3, stream_s=60e-3, longer=4, meetings=3, is_thorough=True
)
BRIEF = Effort(
    chain_s=2e-3, chain_repeats=2, at_once=2, stream_s=30e-3, longer=1, meetings=2, is_thorough=False
)
