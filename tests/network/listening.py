# SPDX-License-Identifier: Apache-2.0
"""Hears all that passes this host's NIC, and says in how many packets each of some patterns was found."""

from __future__ import annotations

import json
import select
import socket
import sys

_ALL_PROTOCOLS = 3
_ROOM = 64 << 20


def main() -> None:
    """Arguments: patterns as hexadecimal digits. It ends when standard input does."""
    patterns = [bytes.fromhex(word) for word in sys.argv[1:]]
    found, heard = [0] * len(patterns), 0
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS)) as nic:
        nic.bind(("eth0", 0))
        nic.setsockopt(socket.SOL_SOCKET, 33, _ROOM)  # SO_RCVBUFFORCE: nothing is missed
        print("ready", flush=True)
        while True:
            readable, _, _ = select.select([nic, sys.stdin], [], [])
            if nic not in readable:
                break
            packet = nic.recv(1 << 17)
            heard += len(packet)
            for number, pattern in enumerate(patterns):
                found[number] += pattern in packet
    print(json.dumps({"bytes": heard, "found": found}), flush=True)


if __name__ == "__main__":
    main()
