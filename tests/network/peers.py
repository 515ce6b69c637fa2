# SPDX-License-Identifier: Apache-2.0
"""What tests run on hosts: small programs that speak TCP and nothing else of Hemiola."""

import socket
import sys


def serve(port: int) -> None:
    """Take connections over either family and print how many bytes came through each."""
    with socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            count = 0
            while data := connection.recv(1 << 16):
                count += len(data)
            print(count, flush=True)


def send(address: str, port: int, count: int, limit_s: float) -> None:
    """Connect and send so many bytes."""
    with socket.create_connection((address, port), timeout=limit_s) as connection:
        connection.settimeout(None)
        connection.sendall(bytes(count))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
