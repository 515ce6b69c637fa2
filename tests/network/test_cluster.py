# SPDX-License-Identifier: Apache-2.0
"""A cluster on one machine: addresses, rates, cables, commands, and that nothing is left behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from hemiola.cluster import Cluster, register
from hemiola.errors import ArgumentError, ClusterError
from waiting import is_alive, wait_until

PEERS = str(Path(__file__).with_name("peers.py"))
PORT = 5001
LIMIT_S = 60.0

Make = Callable[..., Cluster]


class Server:
    """A server on a host, and how many bytes it was sent."""

    def __init__(self, cluster: Cluster, host: int) -> None:
        command = [sys.executable, "-I", PEERS, "serve", str(PORT)]
        self.process = cluster.start(host, command, stdout=subprocess.PIPE, text=True)
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return str(self.process.stdout.readline().strip())

    def count(self) -> int:
        return int(self._line())


def send(cluster: Cluster, host: int, address: str, count: int, limit_s: float = LIMIT_S) -> None:
    command = [sys.executable, "-I", PEERS, "send", address, str(PORT), str(count), str(limit_s)]
    cluster.run(host, command, timeout_s=LIMIT_S)


def wait_until_gone(*processes: int) -> None:
    wait_until(lambda: not any(map(is_alive, processes)))


def devices() -> list[str]:
    return sorted(os.listdir("/sys/class/net"))


def test_hosts_reach_each_other_over_both_families_and_by_name(clusters: Make) -> None:
    cluster = clusters(2)
    server = Server(cluster, 1)
    for address in (cluster.hosts[1].ipv4, cluster.hosts[1].ipv6, "host1"):
        send(cluster, 0, address, 1000)
        assert server.count() == 1000


def test_a_host_reaches_nothing_outside_and_the_machine_has_no_new_device(clusters: Make) -> None:
    before = devices()
    cluster = clusters(2)
    assert devices() == before
    assert cluster.run(0, ["ls", "/sys/class/net"]).split() == ["eth0", "lo"]
    routes = cluster.run(0, ["ip", "route"]).splitlines()
    assert [line.split()[0] for line in routes] == ["10.77.0.0/16"]


def test_a_nics_counters_have_the_payload_and_few_headers(clusters: Make) -> None:
    cluster = clusters(2, rate="400mbit")
    server, count = Server(cluster, 1), 1 << 20
    before = cluster.counters(0).sent, cluster.counters(1).received
    send(cluster, 0, cluster.hosts[1].ipv4, count)
    assert server.count() == count
    for moved in (cluster.counters(0).sent - before[0], cluster.counters(1).received - before[1]):
        assert count < moved < 1.1 * count


def test_nics_are_limited_both_ways_and_slow_ones_more(clusters: Make) -> None:
    cluster = clusters(3, rate="200mbit", slow={1: 2.0})
    assert [cluster.rates(host) for host in range(3)] == [(25e6, 25e6), (12.5e6, 12.5e6), (25e6, 25e6)]


def test_a_limited_nic_lets_a_packet_of_64_kib_pass_at_once(clusters: Make) -> None:
    cluster = clusters(1, rate="1mbit")
    shown = cluster.run(0, ["tc", "qdisc", "show", "dev", "eth0"])
    assert "burst 128Kb" in shown


def test_a_rate_changes_while_the_cluster_is_up_and_can_be_lifted(clusters: Make) -> None:
    cluster = clusters(2)
    assert cluster.rates(0) == (None, None)
    cluster.set_rate(0, 5e6)
    assert cluster.rates(0) == (5e6, 5e6)
    cluster.set_rate(0, "80mbit")
    assert cluster.rates(0) == (10e6, 10e6)
    cluster.set_rate(0, None)
    assert cluster.rates(0) == (None, None) == cluster.rates(1)


def test_a_pulled_cable_cuts_a_host_off_until_it_is_plugged_in(clusters: Make) -> None:
    cluster = clusters(2)
    server = Server(cluster, 1)
    cluster.set_link(1, up=False)
    assert (cluster.is_up(0), cluster.is_up(1)) == (True, False)
    with pytest.raises(ClusterError, match=r"TimeoutError|No route"):
        send(cluster, 0, cluster.hosts[1].ipv4, 10, limit_s=0.2)
    cluster.set_link(1, up=True)
    send(cluster, 0, cluster.hosts[1].ipv4, 10)
    assert server.count() == 10


def test_hosts_have_identities_of_their_own(clusters: Make) -> None:
    cluster = clusters(2)
    files = ["/etc/hostname", "/proc/sys/kernel/random/boot_id", "/etc/machine-id"]
    files = [file for file in files if os.path.exists(file)]
    told = [cluster.run(host, ["cat", *files]).split() for host in range(2)]
    assert all(here != there for here, there in zip(*told, strict=True))
    assert all(text not in told[0] for text in Path(files[1]).read_text().split())
    assert [cluster.run(host, ["uname", "-n"]).strip() for host in range(2)] == ["host0", "host1"]
    for kind in ("net", "uts", "ipc", "mnt", "pid"):
        own = {cluster.run(host, ["readlink", f"/proc/self/ns/{kind}"]) for host in range(2)}
        assert own.isdisjoint({os.readlink(f"/proc/self/ns/{kind}") + "\n"})
        assert len(own) == 2


def test_two_clusters_with_the_same_addresses_do_not_meet(clusters: Make) -> None:
    one, other = clusters(2), clusters(2)
    server = Server(one, 1)
    with pytest.raises(ClusterError, match="ConnectionRefusedError"):
        send(other, 0, other.hosts[1].ipv4, 10)
    send(one, 0, one.hosts[1].ipv4, 10)
    assert server.count() == 10


def test_a_name_is_taken_once_and_free_again_afterwards(clusters: Make) -> None:
    name = f"test-{os.getpid()}"
    clusters(1, name=name)
    assert Cluster.find(name).hosts[0].name == "host0"
    with pytest.raises(ClusterError, match=f"'{name}' exists"):
        Cluster(1, name=name)
    assert name in register.names()


def test_what_runs_on_a_host_ends_with_the_cluster(clusters: Make) -> None:
    cluster = clusters(2)
    shell = cluster.start(0, ["sh", "-c", "sleep 1000 & echo; wait"], stdout=subprocess.PIPE, text=True)
    assert shell.stdout is not None
    shell.stdout.readline()
    path = register.path_of(cluster.name)
    assert path.exists()
    cluster.close()
    wait_until_gone(shell.pid, *(host.process for host in cluster.hosts))
    assert shell.stdout.read() == ""  # what the shell had started holds the pipe, or has gone
    assert not path.exists()


def test_a_host_that_died_is_named_and_the_others_go_on(clusters: Make) -> None:
    cluster = clusters(2)
    runs = cluster.start(1, ["sleep", "1000"])
    os.kill(cluster.hosts[1].process, signal.SIGKILL)
    assert runs.wait(LIMIT_S) == -signal.SIGKILL
    wait_until_gone(cluster.hosts[1].process)
    assert [cluster.is_alive(host) for host in range(2)] == [True, False]
    with pytest.raises(ClusterError, match="has ended"):
        cluster.run(1, ["true"])
    assert cluster.run(0, ["uname", "-n"]) == "host0\n"


OWNER = """
    import os, sys, time
    from hemiola.cluster import Cluster
    cluster = Cluster(2, rate="100mbit")
    runs = cluster.start(1, ["sh", "-c", "trap '' TERM INT; sleep 1000"])
    print(runs.pid, *(host.process for host in cluster.hosts), cluster.name, flush=True)
    time.sleep(1000)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_of_a_process_that_is_killed_with_its_cluster(
    clusters: Make, number: signal.Signals
) -> None:
    clusters(1)  # skips where none may be made
    command = [sys.executable, "-c", textwrap.dedent(OWNER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as owner:
        assert owner.stdout is not None
        *processes, name = owner.stdout.readline().split()
        owner.send_signal(number)
    wait_until_gone(*map(int, processes))
    wait_until(lambda: not register.path_of(name).exists())


def test_a_killed_keeper_takes_its_hosts_along_and_its_name_is_cleared_away(clusters: Make) -> None:
    name = f"test-{os.getpid()}"
    cluster = clusters(2, name=name)
    os.kill(cluster._state["keeper"], signal.SIGKILL)
    wait_until_gone(*(host.process for host in cluster.hosts))
    assert register.path_of(name).exists()
    assert name not in register.names()
    assert not register.path_of(name).exists()


def test_without_the_right_to_make_namespaces_the_error_says_what_would_help(clusters: Make) -> None:
    clusters(1)
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv to give the right up")
    dropped = ["setpriv", "--bounding-set", "-sys_admin,-setuid,-setgid,-setfcap", "--inh-caps", "-all"]
    script = "from hemiola.cluster import Cluster; Cluster(1)"
    ran = subprocess.run([*dropped, sys.executable, "-c", script], capture_output=True, text=True)
    assert "CAP_SYS_ADMIN" in ran.stderr or "not permitted" in ran.stderr


def test_in_a_user_namespace_everything_works_but_stopping(clusters: Make) -> None:
    """Given root without CAP_SYS_ADMIN, whom the kernel lets make a user namespace as it lets any user."""
    clusters(1)
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv to give the right up")
    script = """
        from hemiola.cluster import Cluster
        with Cluster(2, rate="100mbit") as cluster:
            assert cluster._state["own_user"]
            assert cluster.rates(1) == (12.5e6, 12.5e6)
            assert cluster.run(1, ["uname", "-n"]) == "host1\\n"
            failing = cluster.start(0, ["sh", "-c", "exit 7"])
            ending = cluster.start(0, ["sleep", "1000"])
            ending.terminate()
            print(failing.wait(), ending.wait())
    """
    command = ["setpriv", "--bounding-set", "-sys_admin", sys.executable, "-c", textwrap.dedent(script)]
    ran = subprocess.run(command, capture_output=True, text=True)
    if "may not create" in ran.stderr:
        pytest.skip(ran.stderr.splitlines()[-1])
    assert (ran.stdout, ran.stderr) == ("7 -15\n", "")


def test_the_python_of_the_page_runs(clusters: Make) -> None:
    clusters(1)
    page = Path(__file__).parents[2] / "docs/how-to/emulated-cluster.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    (block,) = [block for block in blocks if "Cluster(" in block]
    exec(block, {})


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"hosts": 0}, "1 … 250 hosts"),
        ({"hosts": 2, "rate": 1.0}, "a rate of 8 kbit/s"),
        ({"hosts": 2, "slow": {0: 2.0}}, "need a rate"),
        ({"hosts": 2, "rate": 1e6, "slow": {2: 2.0}}, r"slow hosts in 0 … 1"),
        ({"hosts": 2, "rate": 1e6, "slow": {0: 0.5}}, "a factor >= 1"),
        ({"hosts": 2, "mtu": 100}, "MTU of 1280"),
        ({"hosts": 2, "name": "a/b"}, "expected a name of letters"),
    ],
)
def test_what_cannot_be_emulated_is_refused_before_anything_is_made(
    how: dict[str, object], words: str
) -> None:
    with pytest.raises(ArgumentError, match=words):
        Cluster(**how)  # type: ignore[arg-type]


def test_a_host_that_there_is_not_is_named_with_those_there_are(clusters: Make) -> None:
    cluster = clusters(2)
    with pytest.raises(ArgumentError, match=r"a host in 0 … 1, found 2"):
        cluster.run(2, ["true"])


def test_hosts_with_two_nics_have_two_networks_with_rates_and_cables_of_their_own(clusters: Make) -> None:
    cluster = clusters(2, nics=2, rate="200mbit")
    server = Server(cluster, 1)
    cluster.set_rate(0, "100mbit", nic=1)
    assert [cluster.rates(0, nic=nic) for nic in range(2)] == [(25e6, 25e6), (12.5e6, 12.5e6)]
    cluster.set_link(1, up=False, nic=0)
    assert [cluster.is_up(1, nic=nic) for nic in range(2)] == [False, True]
    before = [cluster.counters(1, nic=nic).received for nic in range(2)]
    send(cluster, 0, "10.78.0.2", 100_000)
    assert server.count() == 100_000
    moved = [cluster.counters(1, nic=nic).received - before[nic] for nic in range(2)]
    assert moved[0] < 1000 < 100_000 < moved[1]
    with pytest.raises(ArgumentError, match=r"0 … 1, found 2"):
        cluster.rates(0, nic=2)
