# SPDX-License-Identifier: Apache-2.0
"""JAX's coordinator as the store at which ranks meet."""

from __future__ import annotations

from typing import Any


class Coordinator:
    """The key-value store of `jax.distributed`, with the methods of `hemiola.Communicator.join`'s stores."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def add(self, key: str, amount: int, /) -> int:
        return int(self._client.key_value_increment(_within(key), amount))

    def set(self, key: str, value: str, /) -> None:
        self._client.key_value_set(_within(key), value, allow_overwrite=True)

    def get(self, key: str, /) -> bytes:
        return bytes(self._client.key_value_try_get(_within(key)).encode())

    def check(self, keys: list[str], /) -> bool:
        return all(self._has(key) for key in keys)

    def _has(self, key: str) -> bool:
        from jax.errors import JaxRuntimeError

        try:
            self._client.key_value_try_get(_within(key))
        except JaxRuntimeError as error:
            if "NOT_FOUND" in str(error):
                return False
            raise
        return True


def _within(key: str) -> str:
    return f"hemiola/{key}"
