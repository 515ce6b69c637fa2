# SPDX-License-Identifier: Apache-2.0
"""Where ranks of one host meet when a wire was asked for that needs addresses, and the secret that they share."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass, field

from hemiola.environment import INTERFACE, IP_FAMILY, PORTS, TOKEN_BYTES, needs_addresses
from hemiola.errors import ArgumentError


def free_port() -> int:
    """Return a port that is free now, one of HEMIOLA_PORTS where that is set."""
    ports = PORTS.value()
    # Ranks take the first ones of the range, perhaps before rank 0 has come to listen here.
    for port in reversed(ports) if ports else (0,):
        with suppress(OSError), socket.create_server(("", port)) as server:
            return int(server.getsockname()[1])
    which = f"among {ports[0]}-{ports[-1]}" if ports else "on this host"
    raise ArgumentError(
        f"{PORTS.name}: expected a free port {which}, found none: other processes listen there; end them, or choose "
        f"other ports"
    )


class Secret:
    """A token in an anonymous file, which child processes inherit; a context manager that closes it.

    `text` is HEMIOLA_TOKEN's value for it, `descriptors` the descriptors to pass to a child.
    """

    def __init__(self, token: bytes) -> None:
        self.descriptors = (os.memfd_create("hemiola-token"),) if token else ()
        for descriptor in self.descriptors:
            os.write(descriptor, token)

    @property
    def text(self) -> str:
        return f"fd:{self.descriptors[0]}" if self.descriptors else ""

    def __enter__(self) -> Secret:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)


@dataclass(frozen=True)
class MeetingPlace:
    """The meeting place of a job's ranks on this host alone, and a token for them; all empty where shared memory is all
    that they need. `variables` are further ones that they are to have, unless the user has set them."""

    rendezvous: str = ""
    token: bytes = b""
    variables: dict[str, str] = field(default_factory=dict)

    @classmethod
    def on_this_host(cls) -> MeetingPlace:
        """Choose one, on the loopback interface: there may be no other."""
        if not needs_addresses():
            return cls()
        host, network = ("[::1]", "::1/128") if IP_FAMILY.value() == 6 else ("127.0.0.1", "127.0.0.0/8")
        return cls(f"{host}:{free_port()}", secrets.token_bytes(TOKEN_BYTES), {INTERFACE.name: network})
