# SPDX-License-Identifier: Apache-2.0
"""What mpirun and mpiexec call for ssh: asks `remote_shell.RemoteShell` to start a command, and ends as it does.

Arguments: the path of its socket, options of ssh's, which are ignored, the host, and the command. Starts in 20 ms,
since it imports nothing but the standard library."""

import json
import socket
import sys

_NOT_STARTED = 255


def main() -> int:
    """Ask for the command, and end as it does."""
    path, *words = sys.argv[1:]
    while words[0].startswith("-"):
        del words[0]
    host, *command = words
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [json.dumps([host, " ".join(command)]).encode()], [0, 1, 2])
        return int(connection.recv(16) or _NOT_STARTED)


if __name__ == "__main__":
    sys.exit(main())
