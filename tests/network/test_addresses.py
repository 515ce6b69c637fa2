# SPDX-License-Identifier: Apache-2.0
"""Which addresses a host tells others, on real interfaces in namespaces."""

from __future__ import annotations

import sys
from collections.abc import Callable

from hemiola.cluster import Cluster

SHOW = """
from hemiola import environment
found = environment.reachable_addresses(environment.INTERFACE.value(), environment.IP_FAMILY.value())
print(*(local.address for local in found))
"""

#: What a machine has that runs containers and virtual machines, and a second card.
MORE = """
link add docker0 type bridge
link set docker0 up
address add 172.17.0.1/16 dev docker0
link add virbr0 type bridge
link set virbr0 up
address add 192.168.122.1/24 dev virbr0
link add ib0 type veth peer name other
link set ib0 up
link set other up
address add 10.1.0.1/24 dev ib0
address add 169.254.3.4/16 dev ib0
address add 127.0.1.1/8 dev lo
link add down0 type veth peer name away
address add 10.2.0.1/24 dev down0
"""


def test_a_host_tells_what_others_reach_and_what_was_asked_for(clusters: Callable[..., Cluster]) -> None:
    cluster = clusters(1)
    cluster.run(0, ["sh", "-c", f"ip -batch - <<'END'\n{MORE}\nEND"])
    told = {
        setting: cluster.run(0, ["env", *setting.split(), sys.executable, "-c", SHOW]).split()
        for setting in (
            "HEMIOLA_PORTS=",
            "HEMIOLA_INTERFACE=docker0,ib",
            "HEMIOLA_INTERFACE=^ib HEMIOLA_IP_FAMILY=4",
        )
    }
    assert [set(addresses) for addresses in told.values()] == [
        {"10.77.0.1", "fd77::1", "10.1.0.1"},
        {"172.17.0.1", "10.1.0.1"},
        {"10.77.0.1"},
    ]
