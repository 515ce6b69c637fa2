# SPDX-License-Identifier: Apache-2.0
"""A rank of a job on several hosts that knows nothing but its variables: all others come to rank 0 with the token."""

import hashlib
import socket
import sys
import time

from hemiola import environment


def meet() -> None:
    """Have rank 0 listen where all are told, and the others show there that they have the same secret."""
    rank, rank_count = environment.RANK.value(), environment.RANK_COUNT.value()
    token, rendezvous = environment.TOKEN.value(), environment.RENDEZVOUS.value()
    assert rank_count is not None
    assert token is not None
    assert rendezvous is not None
    proof = hashlib.sha256(token).hexdigest().encode()
    if rank == 0:
        with socket.create_server(
            ("", rendezvous.port), family=socket.AF_INET6, dualstack_ipv6=True
        ) as server:
            for _ in range(rank_count - 1):
                with server.accept()[0] as connection:
                    assert connection.makefile("rb").readline() == proof + b"\n"
        print("all have come")
        return
    while True:
        try:
            with socket.create_connection(rendezvous) as connection:
                connection.sendall(proof + b"\n")
            break
        except ConnectionRefusedError:  # rank 0 is not there yet
            time.sleep(0.02)
    print("came from", socket.gethostname(), environment.LOCAL_RANK.value())


def tell_token() -> None:
    """Print the token, and stay."""
    token = environment.TOKEN.value()
    assert token is not None
    print(token.hex(), flush=True)
    time.sleep(1000)


if __name__ == "__main__":
    {"meet": meet, "tell": tell_token}[sys.argv[1]]()
