# SPDX-License-Identifier: Apache-2.0
"""One rank of one contender of benchmarks/shared_memory.py: takes orders from the harness, answers with times.

Runs in the contender's own environment, so it imports nothing but NumPy and that library. Rank 0 reads lines
"<collective> <bytes> <repeats>" from the harness's socket, shares them with the other ranks through the library itself,
and answers "<seconds per operation> <wrong elements>"."""

import ctypes
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

ORDER_BYTES = 64
Operation = Callable[[], object]


class Library:
    """What all have in common."""

    rank: int
    rank_count: int

    def barrier(self) -> None:
        raise NotImplementedError

    def share(self, order: np.ndarray) -> None:
        """Give all ranks what rank 0 has."""
        raise NotImplementedError

    def operation(self, collective: str, x: np.ndarray, y: np.ndarray, part: np.ndarray) -> Operation:
        raise NotImplementedError

    def total(self, value: float) -> float:
        """Add a value over all ranks."""
        sum_here = np.array([value], dtype=np.float32)
        self.operation("all_reduce_in_place", sum_here, sum_here, sum_here)()
        return float(sum_here[0])


class Hemiola(Library):
    def __init__(self, keep_inputs: bool = True) -> None:
        import hemiola

        self.comm = hemiola.init(timeout_s=600, keep_inputs=keep_inputs)
        self.rank, self.rank_count = self.comm.rank, self.comm.rank_count

    def barrier(self) -> None:
        self.comm.barrier()

    def share(self, order: np.ndarray) -> None:
        self.comm.broadcast(order)

    def operation(self, collective: str, x: np.ndarray, y: np.ndarray, part: np.ndarray) -> Operation:
        if collective == "all_reduce":
            return lambda: self.comm.all_reduce(x, out=y, sparse=False)
        if collective.startswith("all_reduce_in_place"):
            return lambda: self.comm.all_reduce(x, sparse=False)
        if collective == "all_gather":
            return lambda: self.comm.all_gather(part, out=x, sparse=False)
        if collective == "all_to_all":
            return lambda: self.comm.all_to_all(x, out=y)
        if collective == "broadcast":
            return lambda: self.comm.broadcast(x)
        return lambda: self.comm.reduce_scatter(x, out=part, sparse=False)


class Mpi(Library):
    def __init__(self) -> None:
        from mpi4py import MPI

        self._mpi, self._comm = MPI, MPI.COMM_WORLD
        self.rank, self.rank_count = self._comm.rank, self._comm.size

    def barrier(self) -> None:
        self._comm.Barrier()

    def share(self, order: np.ndarray) -> None:
        self._comm.Bcast(order)

    def operation(self, collective: str, x: np.ndarray, y: np.ndarray, part: np.ndarray) -> Operation:
        if collective == "all_reduce":
            return lambda: self._comm.Allreduce(x, y)
        if collective.startswith("all_reduce_in_place"):
            return lambda: self._comm.Allreduce(self._mpi.IN_PLACE, x)
        if collective == "all_gather":
            return lambda: self._comm.Allgather(part, x)
        if collective == "all_to_all":
            return lambda: self._comm.Alltoall(x, y)
        if collective == "broadcast":
            return lambda: self._comm.Bcast(x)
        return lambda: self._comm.Reduce_scatter_block(x, part)


class Torch(Library):
    def __init__(self, backend: str = "gloo") -> None:
        import torch
        import torch.distributed as dist

        torch.set_num_threads(1)
        dist.init_process_group(backend)
        self._torch, self._dist = torch, dist
        self.rank, self.rank_count = dist.get_rank(), dist.get_world_size()

    def barrier(self) -> None:
        self._dist.barrier()

    def share(self, order: np.ndarray) -> None:
        self._dist.broadcast(self._torch.from_numpy(order), 0)

    def operation(self, collective: str, x: np.ndarray, y: np.ndarray, part: np.ndarray) -> Operation:
        whole, result, piece = map(self._torch.from_numpy, (x, y, part))
        if collective == "all_reduce":
            return lambda: self._dist.all_reduce(result.copy_(whole))
        if collective.startswith("all_reduce_in_place"):
            return lambda: self._dist.all_reduce(whole)
        if collective == "all_gather":
            return lambda: self._dist.all_gather_into_tensor(whole, piece)
        if collective == "all_to_all":
            return lambda: self._dist.all_to_all_single(result, whole)
        if collective == "broadcast":
            return lambda: self._dist.broadcast(whole, 0)
        return lambda: self._dist.reduce_scatter_tensor(piece, whole)


#: Collectives by UCC's own numbers.
UCC_KINDS = {
    **{"all_gather": 1 << 0, "all_reduce": 1 << 2, "all_reduce_in_place": 1 << 2, "all_to_all": 1 << 3},
    **{"barrier": 1 << 5, "broadcast": 1 << 6, "reduce_scatter": 1 << 12},
}


class UccRequest:
    """A collective of UCC on certain memory, which can be run again and again."""

    def __init__(self, calls: ctypes.CDLL, kind: int, src: np.ndarray | None, dst: np.ndarray | None) -> None:
        memory = [
            word for array in (src, dst) for word in (_address(array), 0 if array is None else array.size)
        ]
        arrays = [array for array in (src, dst) if array is not None]
        of_floats = not arrays or arrays[0].dtype == np.float32
        self._calls, self._arrays = calls, arrays  # which must outlive the request
        self._request = ctypes.c_void_p(calls.ucc_calls_prepare(kind, *memory, of_floats))

    def __call__(self) -> None:
        self._calls.ucc_calls_run(self._request)

    def __del__(self) -> None:
        self._calls.ucc_calls_forget(self._request)


class Addresses:
    """Rank 0's connections to the others, over which UCC's ranks tell each other where they are."""

    def __init__(self, rank: int, rank_count: int) -> None:
        place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]) + 1
        self._others: dict[int, socket.socket] = {}
        if rank > 0:
            self._others[0] = _connected(place)
            self._others[0].sendall(bytes([rank]))
            return
        with socket.create_server(("", place[1])) as server:
            for _ in range(1, rank_count):
                other, _ = server.accept()
                self._others[_received(other, 1)[0]] = other

    def gather(self, own: bytes, rank_count: int) -> bytes:
        """Return what all ranks have given, one behind the other."""
        if 0 in self._others:
            self._others[0].sendall(own)
            return _received(self._others[0], rank_count * len(own))
        everyone = own + b"".join(_received(self._others[rank], len(own)) for rank in range(1, rank_count))
        for other in self._others.values():
            other.sendall(everyone)
        return everyone


def _connected(place: tuple[str, int]) -> socket.socket:
    until = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(place)
        except ConnectionRefusedError:  # rank 0 is not there yet
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def _received(connection: socket.socket, size: int) -> bytes:
    data = connection.recv(size, socket.MSG_WAITALL)
    if len(data) != size:
        raise ConnectionError(f"expected {size} bytes of another rank, found {len(data)}; has it ended?")
    return data


class Ucc(Library):
    """UCC through ucc_calls.cpp, which contenders.py compiles."""

    def __init__(self) -> None:
        self.rank, self.rank_count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        addresses = Addresses(self.rank, self.rank_count)

        def gather(own: int, everyone: int, size: int) -> None:
            found = addresses.gather(ctypes.string_at(own, size), self.rank_count)
            ctypes.memmove(everyone, found, len(found))

        size, word, flag = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_bool
        self._calls = ctypes.CDLL(str(Path(sys.prefix) / "ucc_calls.so"))
        self._calls.ucc_calls_prepare.argtypes = [ctypes.c_uint64, word, size, word, size, flag]
        self._calls.ucc_calls_prepare.restype = word
        is_shared = len(os.sched_getaffinity(0)) < self.rank_count
        self._gather = ctypes.CFUNCTYPE(None, word, word, size)(gather)  # kept, since the library calls it
        self._calls.ucc_calls_join(self.rank, self.rank_count, flag(is_shared), self._gather)
        self._barrier = UccRequest(self._calls, UCC_KINDS["barrier"], None, None)

    def barrier(self) -> None:
        self._barrier()

    def share(self, order: np.ndarray) -> None:
        UccRequest(self._calls, UCC_KINDS["broadcast"], order, None)()

    def operation(self, collective: str, x: np.ndarray, y: np.ndarray, part: np.ndarray) -> Operation:
        kind = UCC_KINDS[collective.removesuffix("_unkept")]
        ends: dict[str, tuple[np.ndarray | None, np.ndarray | None]] = {
            "all_reduce": (x, y),
            "all_gather": (part, x),
            "all_to_all": (x, y),
            "broadcast": (x, None),
            "reduce_scatter": (x, part),
        }
        return UccRequest(self._calls, kind, *ends.get(collective, (None, x)))


def _address(array: np.ndarray | None) -> int | None:
    return None if array is None else array.ctypes.data


LIBRARIES: dict[str, Callable[[], Library]] = {
    "hemiola": Hemiola,
    "hemiola_again": Hemiola,
    "hemiola_unkept": lambda: Hemiola(keep_inputs=False),
    "openmpi": Mpi,
    "mpich": Mpi,
    "impi": Mpi,
    "ucc": Ucc,
    "gloo": Torch,
}


def contribution(rank: int, count: int) -> np.ndarray:
    """Small integers that differ by rank and place, so that sums are exact and a misplaced element shows."""
    return ((np.arange(count) * 7 + rank * 3) % 11).astype(np.float32)


def wrong_elements(library: Library, collective: str, nbytes: int) -> int:
    """Run the collective once on known data and count this rank's wrong elements; of a barrier there are none."""
    if collective == "barrier":
        return 0
    n, count = library.rank_count, nbytes // 4
    piece = count // n
    everyone = [contribution(rank, count) for rank in range(n)]
    x, part = everyone[library.rank].copy(), contribution(library.rank, piece)
    y = np.zeros_like(x)
    library.operation(collective, x, y, part)()
    if collective == "all_gather":
        return int((x != np.concatenate([contribution(rank, piece) for rank in range(n)])).sum())
    if collective == "all_to_all":
        blocks = [each[library.rank * piece : (library.rank + 1) * piece] for each in everyone]
        return int((y[: n * piece] != np.concatenate(blocks)).sum())
    if collective == "broadcast":
        return int((x != everyone[0]).sum())
    total = np.sum(everyone, axis=0)
    if collective.startswith("all_reduce"):
        return int(((y if collective == "all_reduce" else x) != total).sum())
    return int((part != total[library.rank * piece : (library.rank + 1) * piece]).sum())


def sent_by(library: Library, collective: str, x: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return the array that this rank sends; one without elements, where it sends none."""
    if collective == "barrier" or (collective == "broadcast" and library.rank > 0):
        return x[:0]
    return part if collective == "all_gather" else x


def timed(library: Library, refill: Operation, operation: Operation, repeats: int) -> float:
    """Return seconds per refill and operation, as this rank sees `repeats` of them between two barriers."""
    library.barrier()
    begin = time.perf_counter()
    for _ in range(repeats):
        refill()
        operation()
    library.barrier()
    return (time.perf_counter() - begin) / repeats


def measure(library: Library, collective: str, nbytes: int, repeats: int) -> float:
    """Return seconds per operation, beyond those of an empty function.

    Ranks write the arrays that they send anew before each operation, as programs do: the others' caches have none of
    it. The time of writing is measured alone, and taken off.
    """
    # Written before they are read: pages that never were are all one page, which is in the cache.
    x, y = (np.ones(nbytes // 4, dtype=np.float32) for _ in range(2))
    part = np.ones(nbytes // 4 // library.rank_count, dtype=np.float32)
    is_barrier = collective == "barrier"
    operation = library.barrier if is_barrier else library.operation(collective, x, y, part)
    sent = sent_by(library, collective, x, part)
    values = sent.copy()

    def refill() -> None:
        np.copyto(sent, values)

    def nothing() -> None: ...

    for _ in range(1 + repeats // 2):  # also until ranks that woke up on one core have been spread over all
        refill()
        operation()
    both_s = timed(library, refill, operation, repeats)
    return both_s - timed(library, refill, nothing, repeats)


def measured(library: Library, words: list[str]) -> str:
    """Carry out one order on this rank."""
    collective, nbytes, repeats = words[0], int(words[1]), int(words[2])
    if repeats > 0:
        return f"{measure(library, collective, nbytes, repeats)!r} 0"
    return f"0.0 {int(library.total(wrong_elements(library, collective, nbytes)))}"


L = TypeVar("L", bound=Library)


def serve(library: L, answer: Callable[[L, list[str]], str]) -> None:
    """Follow the harness's orders until it closes the connection; arguments: library, port of the harness."""
    lines = None
    if library.rank == 0:
        lines = socket.create_connection(("127.0.0.1", int(sys.argv[2]))).makefile("rw")
        print(os.getpid(), file=lines, flush=True)
    while True:
        order = np.zeros(ORDER_BYTES, dtype=np.uint8)
        if lines:
            text = lines.readline().encode()
            order[: len(text)] = np.frombuffer(text, dtype=np.uint8)
        library.share(order)
        words = order.tobytes().rstrip(b"\0").decode().split()
        if not words:
            return
        said = answer(library, words)
        if lines:
            print(said, file=lines, flush=True)


if __name__ == "__main__":
    serve(LIBRARIES[sys.argv[1]](), measured)
