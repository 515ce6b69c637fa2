# SPDX-License-Identifier: Apache-2.0
"""The cluster's network: a bridge, a veth pair per host, and both ends of each pair limited to the NIC's rate.

    host 0:  eth0 ─── port0.0 ┐
    host 1:  eth0 ─── port1.0 ├ switch0
    ...                       ┘

Bytes that leave a host wait in eth0, bytes that come to it wait in its port at the switch. Hosts with several NICs have
as many such networks side by side: eth1 leads to switch1 and to nothing else."""

from __future__ import annotations

import ipaddress
import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from hemiola.cluster.place import Place
from hemiola.errors import ArgumentError, ClusterError
from hemiola.units import parse_bandwidth

#: Most that a host may have: their networks are 10.77 … 10.92.
MOST_NICS = 16
FIRST_NETWORK = 77
#: A token bucket must hold a packet that is not yet cut into frames, up to 64 KiB; a smaller one halves the rate.
_LEAST_BURST_BYTES = 128 << 10
_BURST_S = 1e-3
#: How long a frame may wait at most, like in a switch with small buffers.
_QUEUE_S = 50e-3

#: Kernel settings per network namespace: the same start for every connection, windows for any rate that is emulated,
#: and a congestion control that is allowed in namespaces.
SETTINGS = {
    "/proc/sys/net/ipv4/tcp_congestion_control": "reno",
    "/proc/sys/net/ipv4/tcp_slow_start_after_idle": "0",
    "/proc/sys/net/ipv4/tcp_no_metrics_save": "1",
    "/proc/sys/net/ipv4/tcp_rmem": "4096 262144 8388608",
    "/proc/sys/net/ipv4/tcp_wmem": "4096 262144 8388608",
    "/proc/sys/net/ipv6/conf/default/accept_dad": "0",  # addresses hold at once
    "/proc/sys/net/ipv6/conf/default/accept_ra": "0",
}


@dataclass(frozen=True)
class Counters:
    """Bytes that a NIC has sent and received, headers included."""

    sent: int
    received: int


def read_rate(text: str) -> float:
    """Read '200mbit', as tc has it, or any other bandwidth, as bytes per second."""
    tc = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)bit\s*", text, re.IGNORECASE)
    if tc is None:
        return parse_bandwidth(text)
    prefix = tc[2].lower() if tc[2].lower() == "k" else tc[2].upper()
    return parse_bandwidth(f"{tc[1]} {prefix}bit/s")


@dataclass(frozen=True)
class Nic:
    """One NIC: the host's number, its own number on the host, where it is, and where the switch is."""

    host: int
    number: int
    place: Place
    switch: Place

    @property
    def name(self) -> str:
        """Its name on the host."""
        return f"eth{self.number}"

    @property
    def port(self) -> str:
        """The name of its port at the switch."""
        return f"port{self.host}.{self.number}"


def addresses_of(host: int, nic: int = 0) -> tuple[str, str]:
    """Return the IPv4 and IPv6 address of a host's NIC; of networks that are private and that nothing else is joined
    to, a pair for each number of NIC."""
    six = ipaddress.IPv6Address(f"fd77:{nic:x}::{host + 1:x}")
    return f"10.{FIRST_NETWORK + nic}.{(host + 1) // 250}.{(host + 1) % 250}", str(six)


def build(nics: Sequence[Sequence[Nic]], processes: Sequence[int], mtu: int) -> None:
    """Join the NICs of hosts, which `nics` has by host, at switches; `processes` are the first of each host."""
    lines = ["link set lo up"]
    for number in range(len(nics[0])):
        lines += [
            f"link add switch{number} type bridge stp_state 0 forward_delay 0 mcast_snooping 0",
            f"link set switch{number} mtu {mtu} up",
        ]
    for process, own in zip(processes, nics, strict=True):
        for nic in own:
            lines += [
                f"link add {nic.port} mtu {mtu} type veth peer name {nic.name} mtu {mtu} netns {process}",
                f"link set {nic.port} master switch{nic.number} up",
            ]
    _ip(nics[0][0].switch, lines)
    for own in nics:
        lines = ["link set lo up"]
        for nic in own:
            four, six = addresses_of(nic.host, nic.number)
            lines += [
                f"link set {nic.name} up",
                f"address add {four}/16 dev {nic.name}",
                f"address add {six}/64 dev {nic.name} nodad",
            ]
        _ip(own[0].place, lines)


def limit(nic: Nic, rate: float | None) -> None:
    """Let a NIC carry so many bytes per second each way; None: as fast as the machine is."""
    for at, device in ((nic.place, nic.name), (nic.switch, nic.port)):
        if rate is None:
            if rate_of(at, device) is not None:
                _command(at, ["tc", "qdisc", "delete", "dev", device, "root"])
            continue
        burst = max(_LEAST_BURST_BYTES, int(rate * _BURST_S))
        words = [
            "rate",
            f"{round(rate * 8)}bit",
            "burst",
            str(burst),
            "limit",
            str(int(rate * _QUEUE_S) + 4 * burst),
        ]
        _command(at, ["tc", "qdisc", "replace", "dev", device, "root", "tbf", *words])


def rates(nic: Nic) -> tuple[float | None, float | None]:
    """Return the rates at which a NIC may send and receive, in bytes per second, as the kernel has them; None where not
    limited."""
    return rate_of(nic.place, nic.name), rate_of(nic.switch, nic.port)


def rate_of(place: Place, device: str) -> float | None:
    """Return the rate at which bytes may leave through a device, in bytes per second; None where it is not limited."""
    found = json.loads(_command(place, ["tc", "-json", "qdisc", "show", "dev", device, "root"]) or "[]")
    return next((float(queue["options"]["rate"]) for queue in found if queue["kind"] == "tbf"), None)


def set_link(nic: Nic, is_up: bool) -> None:
    """Plug a NIC's cable in, or pull it: the host's own side sees the carrier come and go."""
    _ip(nic.switch, [f"link set {nic.port} {'up' if is_up else 'down'}"])


def is_up(nic: Nic) -> bool:
    """Return whether a NIC has a carrier."""
    found = json.loads(_command(nic.place, ["ip", "-json", "link", "show", "dev", nic.name]))
    return "LOWER_UP" in found[0]["flags"]


def counters(nic: Nic) -> Counters:
    """Return a NIC's counters."""
    found = json.loads(_command(nic.place, ["ip", "-json", "-statistics", "link", "show", "dev", nic.name]))
    both = found[0]["stats64"]
    return Counters(sent=both["tx"]["bytes"], received=both["rx"]["bytes"])


def _ip(place: Place, lines: Sequence[str]) -> None:
    _command(place, ["ip", "-batch", "-"], "\n".join(lines) + "\n")


def _command(place: Place, command: Sequence[str], given: str = "") -> str:
    try:
        return place.output_of(command, given)
    except FileNotFoundError:
        raise ClusterError(
            f"cluster: '{command[0]}' is not installed; on Debian or Ubuntu: apt install iproute2"
        ) from None
    except subprocess.CalledProcessError as error:
        raise ClusterError(f"cluster: '{' '.join(command)}' failed: {error.stderr.strip()}") from None


def check_rate(rate: float, what: str) -> float:
    """Return a rate that can be emulated; raise ArgumentError for another."""
    if not 1e3 <= rate <= 1e12:
        raise ArgumentError(f"cluster: expected {what} of 8 kbit/s … 8 Tbit/s, found {rate * 8:g} bit/s")
    return rate
