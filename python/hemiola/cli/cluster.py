# SPDX-License-Identifier: Apache-2.0
"""`hemiola cluster`: hosts on this machine, with NICs of a rate, for trying programs for several hosts."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from hemiola.cli import options, values
from hemiola.cli.launch import (
    CONTEXT,
    Environment,
    Labels,
    Module,
    ProgramWords,
    RanksPerHost,
    Verbose,
    command_of,
    read_environment,
    report,
)
from hemiola.cli.output import answer, printable, table
from hemiola.cluster import Cluster, register
from hemiola.cluster.cluster import end
from hemiola.cluster.nics import addresses_of, read_rate
from hemiola.errors import ArgumentError, ClusterError
from hemiola.launch.programs import Program, on_cluster, run_program
from hemiola.launch.side_by_side import Attention, Running, attend, ended_in_the_end
from hemiola.units import format_bandwidth

app = typer.Typer(help="Hosts on this machine, with NICs of a limited rate.", no_args_is_help=True)

#: How long a command may take to end after Ctrl-C.
_INTERRUPT_LIMIT_S = 5.0

_Name = Annotated[str, typer.Option("--name", metavar="NAME", help="Which cluster.")]
_HostArgument = Annotated[str, typer.Argument(metavar="HOST", help="A host's number or name: 3 or host3.")]
_Nic = Annotated[
    int | None,
    typer.Option("--nic", metavar="NUMBER", min=0, help="Which of its NICs: 1. Default: all."),
]
_Command = Annotated[list[str], typer.Argument(metavar="COMMAND", help="After --, with its arguments.")]


@app.command()
def up(
    hosts: Annotated[
        int,
        typer.Option(
            "--hosts", metavar="COUNT", parser=options.reads(values.read_count), help="Number of hosts."
        ),
    ] = 2,
    nics: Annotated[
        int,
        typer.Option(
            "--nics", metavar="COUNT", parser=options.reads(values.read_count), help="NICs of each host."
        ),
    ] = 1,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            metavar="SPEED",
            parser=options.reads(read_rate),
            help="The rate of a NIC each way: 200mbit, 1 Gbit/s. Default: as fast as the machine is.",
        ),
    ] = None,
    slow: Annotated[
        list[str] | None,
        typer.Option(
            "--slow", metavar="HOST=FACTOR", help="A host's NICs are slower: 0=2. Repeat or join with commas."
        ),
    ] = None,
    mtu: Annotated[
        int,
        typer.Option(
            "--mtu", metavar="BYTES", parser=options.reads(values.read_count), help="Largest packet."
        ),
    ] = 1500,
    name: _Name = "cluster",
    foreground: Annotated[
        bool,
        typer.Option("--foreground", help="Stay, and end the cluster with this command, however it ends."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Make a cluster: hosts host0, host1, … that reach each other by name, IPv4 and IPv6, and nothing else.

    It lives until 'hemiola cluster down'. Needs root, or a kernel that lets users make user namespaces.

    Example: hemiola cluster up --hosts 8 --rate 200mbit --slow 0=2
    """
    made = Cluster(hosts, nics=nics, rate=rate, slow=values.read_slow(slow or ()), mtu=mtu, name=name)
    with made:
        state = _state_of(made)
        answer(as_json, state, _shown(state))
        if foreground:
            made.wait()
        else:
            made.detach()


@app.command("exec")
def execute(
    host: Annotated[
        str, typer.Argument(metavar="HOST", help="A host's number or name: 3 or host3; all for all of them.")
    ],
    command: _Command,
    name: _Name = "cluster",
    as_json: options.Json = False,
) -> int:
    """Run a command on a host, or on all at once; the exit code is the command's, or the first that is not 0.

    On one host it has this terminal. On all of them each line stands behind the host's name.

    Example: hemiola cluster exec all -- ip address
    """
    found = Cluster.find(name)
    numbers = range(len(found.hosts)) if host == "all" else [_number(found, host)]
    if as_json:
        return _captured(found, numbers, command)
    if host == "all":
        return _side_by_side(found, command)
    with _closing(found):
        process = found.start(numbers[0], command)
        try:
            code = process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            code = process.wait(_INTERRUPT_LIMIT_S)
        return code if code >= 0 else 128 - code


@app.command(context_settings=CONTEXT)
def run(
    program: ProgramWords,
    ranks: RanksPerHost = 1,
    name: _Name = "cluster",
    module: Module = False,
    env: Environment = None,
    labels: Labels = True,
    verbose: Verbose = False,
    as_json: options.Json = False,
) -> int:
    """Start a program on all hosts of a cluster, as 'hemiola launch --hosts' does on others.

    Example: hemiola cluster run -n 2 train.py --epochs 3
    """
    found = Cluster.find(name)
    made = Program(
        command_of(program, sys.executable, module=module),
        ranks,
        environment=read_environment(env),
        labels=labels,
        verbose=verbose,
    )
    code = run_program(made, on_cluster(found), None, sys.stderr.buffer if as_json else None)
    report(as_json, made, [host.name for host in found.hosts], ranks * len(found.hosts), code)
    return code


@app.command()
def rate(
    host: _HostArgument,
    rate: Annotated[str, typer.Argument(metavar="SPEED", help="100mbit, 1 Gbit/s, or unlimited.")],
    nic: _Nic = None,
    name: _Name = "cluster",
    as_json: options.Json = False,
) -> None:
    """Change the rate of a host's NICs each way, at once.

    Example: hemiola cluster rate 3 100mbit
    """
    found = Cluster.find(name)
    number = _number(found, host)
    found.set_rate(number, None if rate == "unlimited" else read_rate(rate), nic=nic)
    now = _host_state(found, number)
    answer(as_json, {"cluster": name, **now}, _shown({"name": name, "hosts": [now]}))


@app.command()
def link(
    host: _HostArgument,
    state: Annotated[str, typer.Argument(metavar="down|up", help="Pull the cable out, or plug it in again.")],
    nic: _Nic = None,
    name: _Name = "cluster",
    as_json: options.Json = False,
) -> None:
    """Pull a host's cables out of the switch, or plug them in again.

    Example: hemiola cluster link 3 down
    """
    if state not in ("up", "down"):
        raise ArgumentError(f"expected up or down, found '{printable(state)}'")
    found = Cluster.find(name)
    number = _number(found, host)
    found.set_link(number, up=state == "up", nic=nic)
    now = _host_state(found, number)
    answer(as_json, {"cluster": name, **now}, _shown({"name": name, "hosts": [now]}))


@app.command()
def status(
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Which cluster; all by default.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List this user's clusters that are up, with their NICs' present rates."""
    states = [_state_of(Cluster.find(name))] if name else list(_states())
    answer(as_json, states, *(map(_shown, states) if states else [Text("No cluster is up.")]))


@app.command()
def down(name: _Name = "cluster", as_json: options.Json = False) -> None:
    """End a cluster and all that runs on it."""
    end(name)
    answer(as_json, {"name": name}, Text(f"Cluster '{name}' is down."))


def _states() -> Iterator[dict[str, Any]]:
    """Yield the state of every cluster that does not end meanwhile."""
    for name in register.names():
        try:
            yield _state_of(Cluster.find(name))
        except (ArgumentError, ClusterError):
            if name in register.names():
                raise


def _number(cluster: Cluster, host: str) -> int:
    """Return the number of a host, from it or from the host's name."""
    text = printable(host)
    number = next((found.number for found in cluster.hosts if text in (found.name, str(found.number))), None)
    if number is None:
        raise ArgumentError(
            f"expected a host of cluster '{cluster.name}', 0 … {len(cluster.hosts) - 1} or its name, found '{text}'"
        )
    return number


def _closing(cluster: Cluster) -> contextlib.closing[Cluster]:
    """End what was started on a cluster that is not ours to end."""
    return contextlib.closing(cluster)


def _side_by_side(cluster: Cluster, command: list[str]) -> int:
    """Run a command on all hosts."""
    commands: list[Running] = []
    with ended_in_the_end(commands):
        for host in cluster.hosts:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            process = cluster.start(host.number, command, process_group=0, **pipes)
            commands.append(Running(host.name, process))
        codes = attend(commands, Attention())
    return next((code for code in codes if code != 0), 0)


def _captured(cluster: Cluster, numbers: range | list[int], command: list[str]) -> int:
    """Run a command on hosts and answer with what it printed on each."""
    pipes: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    with _closing(cluster):
        processes = [
            cluster.start(number, command, text=True, errors="replace", **pipes) for number in numbers
        ]
        printed = [process.communicate() for process in processes]
    codes = [code if (code := process.returncode) >= 0 else 128 - code for process in processes]
    rows = [
        {"host": cluster.hosts[number].name, "exit_code": code, "output": out, "errors": errors}
        for number, code, (out, errors) in zip(numbers, codes, printed, strict=True)
    ]
    answer(True, {"name": cluster.name, "program": list(map(printable, command)), "results": rows})
    return next((code for code in codes if code != 0), 0)


def _state_of(cluster: Cluster) -> dict[str, Any]:
    return {"name": cluster.name, "hosts": [_host_state(cluster, host.number) for host in cluster.hosts]}


def _host_state(cluster: Cluster, number: int) -> dict[str, Any]:
    host = cluster.hosts[number]
    is_alive = cluster.is_alive(number)
    nics = [_nic_state(cluster, number, nic) for nic in range(cluster.nics)] if is_alive else []
    first = nics[0] if nics else {"out_Bps": None, "in_Bps": None, "link": "down"}
    return {
        "host": number,
        "name": host.name,
        "ipv4": host.ipv4,
        "ipv6": host.ipv6,
        "process": host.process,
        "out_Bps": first["out_Bps"],
        "in_Bps": first["in_Bps"],
        "link": first["link"],
        "alive": is_alive,
        "nics": nics,
    }


def _nic_state(cluster: Cluster, host: int, nic: int) -> dict[str, Any]:
    ipv4, ipv6 = addresses_of(host, nic)
    out_Bps, in_Bps = cluster.rates(host, nic=nic)
    return {
        "nic": nic,
        "ipv4": ipv4,
        "ipv6": ipv6,
        "out_Bps": out_Bps,
        "in_Bps": in_Bps,
        "link": "up" if cluster.is_up(host, nic=nic) else "down",
    }


def _shown(cluster: dict[str, Any]) -> RenderableType:
    """Return hosts as a table, with a row for each NIC."""
    title = f"cluster '{cluster['name']}'"
    shown = table("host", "IPv4", "IPv6", "out", "in", "link", title=title, left=("host", "IPv4", "IPv6"))
    for host in cluster["hosts"]:
        if not host["alive"]:
            shown.add_row(host["name"], host["ipv4"], host["ipv6"], "", "", "dead")
        for nic in host["nics"]:
            rates = [
                format_bandwidth(rate) if rate else "unlimited" for rate in (nic["out_Bps"], nic["in_Bps"])
            ]
            name = host["name"] if nic["nic"] == 0 else ""
            shown.add_row(name, nic["ipv4"], nic["ipv6"], *rates, nic["link"])
    return shown
