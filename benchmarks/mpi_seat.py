# SPDX-License-Identifier: Apache-2.0
"""What mpirun starts for benchmarks/mpi_seats.py: tells what it was given, and keeps the place for another
process.

Argument: the path of a socket. Imports nothing but the standard library."""

import array
import json
import os
import signal
import socket
import sys

_PREFIXES = ("PMI", "PMIX", "MPI", "OMPI", "PRTE", "HYDI", "HYDRA")
_RANK = ("PMI_RANK", "OMPI_COMM_WORLD_RANK")


def main() -> None:
    """Hand over the variables and the descriptor of the launcher's connection, and wait for the end."""
    variables = {name: value for name, value in os.environ.items() if name.startswith(_PREFIXES)}
    rank = next(int(variables[name]) for name in _RANK if name in variables)
    held = [int(variables["PMI_FD"])] if "PMI_FD" in variables else []
    words = json.dumps({"rank": rank, "variables": variables}).encode()
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", held))] if held else []
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])
        connection.sendmsg([words], rights)
    for descriptor in held:
        os.close(descriptor)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
