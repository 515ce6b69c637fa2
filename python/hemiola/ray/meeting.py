# SPDX-License-Identifier: Apache-2.0
"""Where actors of a group meet: in Ray's own store, at a place that no earlier group of their name has used."""

from __future__ import annotations

import json
import secrets
import time
from urllib.parse import quote

import ray
from ray.experimental import internal_kv

from hemiola.communicator.own_counts import OwnCounts
from hemiola.errors import TimeoutError

_PAUSE_S = 0.005


class RayStore(OwnCounts):
    """Ray's store as ranks meet in it, at one place."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place

    def _key(self, key: str) -> str:
        return f"{self._place}/{key}"

    def below(self, place: str) -> RayStore:
        """Return the store at a place within this one."""
        return RayStore(self._key(place))

    def set(self, key: str, value: str, /) -> None:
        """Note a value."""
        internal_kv._internal_kv_put(self._key(key), value)

    def get(self, key: str, /) -> bytes:
        """Return a value; nothing where there is none."""
        return internal_kv._internal_kv_get(self._key(key)) or b""

    def check(self, keys: list[str], /) -> bool:
        """Say whether all of these have been set."""
        return all(internal_kv._internal_kv_exists(self._key(key)) for key in keys)

    def clear(self) -> None:
        """Forget what was noted at this place and below."""
        internal_kv._internal_kv_del(self._place + "/", del_by_prefix=True)


def met(group: str, rank: int, rank_count: int, timeout_s: float) -> tuple[RayStore, RayStore, list[str]]:
    """Find a new place with the other actors of a group.

    A group that has failed may have left words under the same name. So each rank writes a card that is new, and heeds
    only a roll that has this card. Rank 0 goes on once all ranks have seen the same roll.

    Returns
    -------
    The store at that place, the one above it, whose words nobody needs once all have met, and each rank's actor.

    Raises
    ------
    TimeoutError
        naming ranks that did not come.
    """
    hall = RayStore(f"hemiola/groups/{quote(group, safe='')}")
    card = json.dumps([secrets.token_hex(8), ray.get_runtime_context().get_actor_id() or "a task"])
    others, deadline, is_first = range(1, rank_count), time.monotonic() + timeout_s, True
    while True:
        if not hall.check([f"card {rank}"]) or is_first:  # the end of an earlier meeting removes all cards
            hall.set(f"card {rank}", card)
            is_first = False
        if rank == 0:
            cards = [card, *(hall.get(f"card {other}").decode() for other in others)]
            roll = json.dumps(cards).encode()
            if all(cards):
                hall.set("roll", roll.decode())
                if all(hall.get(f"seen {other}") == roll for other in others):
                    hall.set("agreed", roll.decode())
                    break
        else:
            roll = hall.get("roll")
            cards = json.loads(roll) if roll else []
            if len(cards) == rank_count and cards[rank] == card:
                hall.set(f"seen {rank}", roll.decode())
                if hall.get("agreed") == roll:
                    break
        if time.monotonic() > deadline:
            missing = [other for other in others if not hall.get(f"card {other}")] if rank == 0 else [0]
            raise TimeoutError(
                f"group '{group}': expected {rank_count} actors, but ranks {missing} did not come within "
                f"{timeout_s:g} s. Each actor calls init_collective_group with its own rank"
            )
        time.sleep(_PAUSE_S)
    told = [json.loads(each) for each in cards]
    return hall.below(told[0][0]), hall, [actor for _, actor in told]
