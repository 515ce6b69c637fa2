"""What a process finds around itself: variables of the environment, in one table, and the addresses of this machine
that others may be told."""

from hemiola.environment.interfaces import InterfaceRule, LocalAddress, reachable_addresses
from hemiola.environment.packages import ucx_libraries
from hemiola.environment.variables import (
    INTERFACE,
    IP_FAMILY,
    JOB,
    LOCAL_RANK,
    LOCAL_RANK_COUNT,
    MPI,
    PORTS,
    PREFIX,
    RANK,
    RANK_COUNT,
    RENDEZVOUS,
    SILENCE,
    TIMEOUT,
    TOKEN,
    TOKEN_BYTES,
    VARIABLES,
    HostPort,
    Variable,
    check,
    unknown,
)

__all__ = [
    "INTERFACE",
    "IP_FAMILY",
    "JOB",
    "LOCAL_RANK",
    "LOCAL_RANK_COUNT",
    "MPI",
    "PORTS",
    "PREFIX",
    "RANK",
    "RANK_COUNT",
    "RENDEZVOUS",
    "SILENCE",
    "TIMEOUT",
    "TOKEN",
    "TOKEN_BYTES",
    "VARIABLES",
    "HostPort",
    "InterfaceRule",
    "LocalAddress",
    "Variable",
    "check",
    "reachable_addresses",
    "ucx_libraries",
    "unknown",
]
