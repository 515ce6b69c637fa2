# SPDX-License-Identifier: Apache-2.0
"""How long sparse collectives take: a port and a core per rank, each busy with slices, both at once.

A rank's time is the larger of two: its port's in all, and its core's. One slice's way through everything, and a latency
per message, come on top. Rates of codecs are measured, by density; supports are independent, so that a sum of k ranks
has the density 1-(1-d)^k. Dense data cost the core one pass where they are added and nothing where they are copied. A
network is one port per rank; the event-driven simulator stands behind the dense rows that compare with it in the
tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hemiola.planner.sparse_rule import exposed_share, least_s
from papers.spccl.arrays import union
from papers.spccl.speeds import Speeds

#: Codecs of the formats that we choose from, by the larger of port and core.
Formats = Sequence[Speeds]

#: A slice, in dense bytes.
_SLICE_BYTES = 1 << 20
#: The rule of the engine's study: sparse is tried where the core takes at most 1/1.5 of the dense time.
_ROOM = 1.5
_SAVES = 0.97


@dataclass(frozen=True)
class RankPorts:
    """Ranks with one port each, and the whole buffer: all-gather's output, the others' input."""

    rank_count: int
    nbytes: int
    bandwidth: float
    latency_s: float = 10e-6

    @property
    def chunk(self) -> float:
        """Bytes of one rank's part."""
        return self.nbytes / self.rank_count

    @property
    def rounds(self) -> int:
        """Messages that a rank sends in one phase."""
        return self.rank_count - 1


@dataclass(frozen=True)
class Load:
    """A phase's load on every rank: bytes of its port, seconds of its core, messages, and one slice's way through."""

    port_bytes: float = 0.0
    core_s: float = 0.0
    messages: int = 0
    slice_s: float = 0.0

    def seconds(self, setting: RankPorts) -> float:
        """Return the time with port and core busy at once."""
        through = max(self.port_bytes / setting.bandwidth, self.core_s)
        return through + self.slice_s + self.messages * setting.latency_s

    def then(self, other: Load) -> Load:
        """Return both phases' load; slices flow from one into the other."""
        return Load(
            self.port_bytes + other.port_bytes,
            self.core_s + other.core_s,
            self.messages + other.messages,
            self.slice_s + other.slice_s,
        )


def dense_gather(setting: RankPorts) -> Load:
    """A ring, or direct rounds."""
    return Load(setting.rounds * setting.chunk, 0.0, setting.rounds, _slice(setting) / setting.bandwidth)


def dense_scatter(setting: RankPorts, codec: Speeds) -> Load:
    """The same with every received element added."""
    bytes_in = setting.rounds * setting.chunk
    core = bytes_in / (codec.plain_add * codec.threads)
    return Load(bytes_in, core, setting.rounds, _slice(setting) / setting.bandwidth)


def sparse_gather(setting: RankPorts, codec: Speeds, density: float) -> Load:
    """Compress once, forward received messages, decompress all of them."""
    rates = codec.at(density)
    core = setting.chunk / rates.compress + setting.rounds * setting.chunk / rates.decompress
    one = _slice(setting) * (1 / rates.compress + rates.size / setting.bandwidth + 1 / rates.decompress)
    return Load(rates.size * setting.rounds * setting.chunk, core, setting.rounds, one)


def direct_scatter(setting: RankPorts, codec: Speeds, density: float) -> Load:
    """Direct rounds: every message holds one rank's own values."""
    rates = codec.at(density)
    core = setting.rounds * setting.chunk * (1 / rates.compress + 1 / rates.add)
    one = _slice(setting) * (1 / rates.compress + rates.size / setting.bandwidth + 1 / rates.add)
    return Load(rates.size * setting.rounds * setting.chunk, core, setting.rounds, one)


def ring_scatter(setting: RankPorts, codec: Speeds, density: float, least_sparsity: float = 0.0) -> Load:
    """The paper's ring: hop k carries the union of k ranks, compressed anew; dense from a sparsity on, but for hop
    1."""
    port, core = 0.0, 0.0
    for hop in range(1, setting.rank_count):
        filled = union(density, hop)
        known = union(density, hop - 1) if hop > 1 else density
        if hop == 1 or 1 - known > least_sparsity:
            rates = codec.at(filled)
            port += rates.size
            core += 1 / rates.compress + 1 / rates.add
        else:
            port += 1
            core += 1 / (codec.plain_add * codec.threads)
    rates = codec.at(density)
    one = _slice(setting) * (1 / rates.compress + rates.size / setting.bandwidth + 1 / rates.add)
    return Load(port * setting.chunk, core * setting.chunk, setting.rounds, one)


def pays(sparse: Load, dense: Load, setting: RankPorts) -> bool:
    """Return whether the rule tries sparse. It asks for room on the core, at most 97 % of the dense bytes, less a
    core's time for one slice while no port is busy, and bytes that take long enough."""
    if setting.nbytes < least_s(setting.rank_count) * setting.bandwidth:
        return False
    dense_s = max(dense.port_bytes / setting.bandwidth, dense.core_s)
    exposed = sparse.core_s / dense_s * exposed_share(setting.rank_count, setting.nbytes)
    return _ROOM * sparse.core_s <= dense_s and sparse.port_bytes <= (_SAVES - exposed) * dense.port_bytes


def gather_s(setting: RankPorts, formats: Formats, density: float) -> float:
    """Our all-gather: sparse where the rule tries it."""
    return _gather(setting, formats, density).seconds(setting)


def scatter_s(setting: RankPorts, formats: Formats, density: float) -> float:
    """Our reduce-scatter, in direct rounds."""
    return _scatter(setting, formats, density).seconds(setting)


def reduce_s(setting: RankPorts, formats: Formats, density: float) -> float:
    """Our all-reduce: direct rounds, and a ring of the sums; each phase decides for itself."""
    filled = union(density, setting.rank_count)
    return _scatter(setting, formats, density).then(_gather(setting, formats, filled)).seconds(setting)


def _gather(setting: RankPorts, formats: Formats, density: float) -> Load:
    sparse = [sparse_gather(setting, codec, density) for codec in formats]
    return _chosen(sparse, dense_gather(setting), setting)


def _scatter(setting: RankPorts, formats: Formats, density: float) -> Load:
    sparse = [direct_scatter(setting, codec, density) for codec in formats]
    return _chosen(sparse, dense_scatter(setting, formats[0]), setting)


def spccl_reduce_s(
    setting: RankPorts, codec: Speeds, density: float, inter: float = 0.5, gather: float = 0.1
) -> float:
    """The paper's all-reduce, a ring with its thresholds."""
    first = ring_scatter(setting, codec, density, inter)
    filled = union(density, setting.rank_count)
    second = sparse_gather(setting, codec, filled) if 1 - filled > gather else dense_gather(setting)
    return first.then(second).seconds(setting)


def dense_reduce_s(setting: RankPorts, codec: Speeds) -> float:
    """A dense all-reduce."""
    return dense_scatter(setting, codec).then(dense_gather(setting)).seconds(setting)


def doubling_s(setting: RankPorts, codec: Speeds, density: float) -> float:
    """SparCML's recursive doubling with a COO codec's rates: all that is known so far to the partner, each round."""
    port, core, messages, known = 0.0, 0.0, 0, 1
    while known < setting.rank_count:
        rates = codec.at(union(density, known))
        size = min(1.0, rates.size)
        port += size * setting.nbytes
        core += setting.nbytes * (
            1 / (codec.plain_add * codec.threads) if size == 1 else 1 / rates.compress + 1 / rates.add
        )
        messages, known = messages + 1, 2 * known
    return Load(port, core, messages, _slice(setting) / setting.bandwidth).seconds(setting)


def split_s(setting: RankPorts, codec: Speeds, density: float) -> float:
    """SparCML's split and all-gather with a COO codec's rates; dense where the sums are more than half full."""
    first = direct_scatter(setting, codec, density) if density < 0.5 else dense_scatter(setting, codec)
    filled = union(density, setting.rank_count)
    second = sparse_gather(setting, codec, filled) if filled < 0.5 else dense_gather(setting)
    return first.then(second).seconds(setting)


def _chosen(sparse: Sequence[Load], dense: Load, setting: RankPorts) -> Load:
    """Return the fastest format's load where the rule tries it."""
    fastest = min(sparse, key=lambda load: load.seconds(setting))
    return fastest if pays(fastest, dense, setting) else dense


def _slice(setting: RankPorts) -> float:
    return min(_SLICE_BYTES, setting.chunk)
