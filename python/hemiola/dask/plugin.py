# SPDX-License-Identifier: Apache-2.0
"""A plugin that starts a communicator on workers, and how tasks find it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from distributed import Client, WorkerPlugin, as_completed, get_client, get_worker

from hemiola.communicator import Communicator
from hemiola.communicator.own_counts import OwnCounts
from hemiola.errors import ArgumentError

#: The communicators of this process's workers, by worker and name.
_open: dict[tuple[str, str], Communicator] = {}
#: Places at which this process's workers have met.
_used: set[tuple[str, str]] = set()


class _Metadata(OwnCounts):
    """A store of ranks: the scheduler's metadata, below one place."""

    def __init__(self, client: Client, place: str) -> None:
        super().__init__()
        self._client, self._place = client, place

    def set(self, key: str, value: str, /) -> None:
        """Note a value."""
        self._client.set_metadata([self._place, key], value)

    def get(self, key: str, /) -> bytes:
        """Return it."""
        return str(self._client.get_metadata([self._place, key])).encode()

    def check(self, keys: list[str], /) -> bool:
        """Say whether all of these have been set."""
        return all(self._client.get_metadata([self._place, key], default=None) is not None for key in keys)

    def clear(self) -> None:
        """Forget all values."""
        self._client.set_metadata([self._place], {})


class CommunicatorPlugin(WorkerPlugin):
    """Start a communicator on workers: `client.register_plugin(CommunicatorPlugin())` returns once it is there.

    Workers that come later have no part in it. Registering a new plugin of the same name ends the communicator and
    makes another one, of the workers that there are then. So does a program go on after a worker has died.

    Parameters
    ----------
    workers : addresses of workers, optional; rank i is workers[i]. None means all of the current client's cluster.
    name : str, for several communicators at once.
    timeout_s : float, seconds > 0, as of `hemiola.init`.

    Raises
    ------
    ArgumentError, a ValueError, on registering
        for a worker that is named twice, and for a plugin that was registered before.
    TimeoutError, LostRankError
        naming ranks that did not come.
    """

    def __init__(
        self, workers: Sequence[str] | None = None, *, name: str = "hemiola", timeout_s: float | None = None
    ) -> None:
        self.workers = tuple(_all_workers() if workers is None else workers)
        if len(set(self.workers)) != len(self.workers) or not self.workers:
            raise ArgumentError(f"CommunicatorPlugin: expected distinct workers, found {list(self.workers)}")
        self.name = name
        self._timeout_s = timeout_s
        self._place = f"hemiola/{secrets.token_hex(8)}"

    async def setup(self, worker: Any) -> None:
        """Join the others, in a thread: a worker goes on meanwhile."""
        if worker.address not in self.workers:
            return
        if (worker.address, self._place) in _used:
            raise ArgumentError(
                f"CommunicatorPlugin: expected one that has not been registered, found one that {worker.address} has "
                f"joined by; make a new one for each registration"
            )
        _used.add((worker.address, self._place))
        await asyncio.to_thread(self._join, worker)

    def _join(self, worker: Any) -> None:
        with Client(worker.scheduler.address, security=worker.security, set_as_default=False) as client:
            store = _Metadata(client, self._place)
            rank = self.workers.index(worker.address)
            comm = Communicator.join(rank, len(self.workers), store, timeout_s=self._timeout_s)
            _open[worker.address, self.name] = comm
            if rank == 0:
                store.clear()

    async def teardown(self, worker: Any) -> None:
        """End this worker's part."""
        comm = _open.pop((worker.address, self.name), None)
        if comm is not None:
            await asyncio.to_thread(comm.close)


def _all_workers() -> list[str]:
    """Return the addresses of the current client's workers."""
    found: list[str] = get_client().run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.workers))
    return found


def communicator(name: str = "hemiola") -> Communicator:
    """Return the communicator of the worker that runs this task.

    Parameters
    ----------
    name : str, that of the plugin.

    Returns
    -------
    Communicator. The plugin closes it.

    Raises
    ------
    ArgumentError, a ValueError
        on a worker that has none, naming the workers that have.
    """
    found = [comm for (address, called), comm in _open.items() if called == name and address in _here()]
    if len(found) != 1:
        raise ArgumentError(
            f"communicator '{name}': expected a task on one of its ranks, found {_here() or 'no worker'}. Register a "
            f"CommunicatorPlugin of that name, and send tasks to its workers"
        )
    return found[0]


def _here() -> list[str]:
    """Return the worker that runs this task; all of this process's in `client.run`, which Dask tells no worker."""
    try:
        return [get_worker().address]
    except ValueError:
        return [address for address, _ in _open]


def run(
    client: Client, plugin: CommunicatorPlugin, function: Callable[..., Any], *arguments: Any
) -> list[Any]:
    """Run a function on all ranks at once, as a task on each worker.

    Parameters
    ----------
    client : Client.
    plugin : CommunicatorPlugin that is registered.
    function, arguments : the call of each rank, which finds its communicator by `communicator`.

    Returns
    -------
    List of the results, in the order of ranks.

    Raises
    ------
    What the function raises on the rank that fails first. The others' tasks are cancelled.
    """
    futures = [
        client.submit(function, *arguments, workers=[worker], pure=False, allow_other_workers=False)
        for worker in plugin.workers
    ]
    for future in as_completed(futures):  # that of a dead worker never is
        if future.status == "error":
            error = future.exception()
            client.cancel([other for other in futures if other is not future])
            raise error
    results: list[Any] = client.gather(futures)
    return results
