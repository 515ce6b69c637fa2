// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/network/channels.hpp"

#include <algorithm>
#include <utility>

#include "hemiola/base/interrupt.hpp"
#include "hemiola/base/longest.hpp"
#include "hemiola/schedule/routes.hpp"

namespace hemiola::synthesis {
namespace {

/// Small operations of setting up a channel, its route, and a search's notes of it: 0.65 µs among 700,000.
constexpr std::int64_t kPerChannel = 200;

/// The ranks that a chunk from `src` gets to without passing another rank.
std::vector<Rank> peers_of(const Topology& topology, Rank src, std::vector<int>* seen_by) {
  std::vector<Vertex> frontier{Vertex{src}};
  std::vector<Rank> peers;
  (*seen_by)[static_cast<std::size_t>(src)] = src;
  while (!frontier.empty()) {
    const Vertex v = frontier.back();
    frontier.pop_back();
    heed_interrupt(topology.out_end(v) - topology.out_begin(v));
    for (const int* l = topology.out_begin(v); l != topology.out_end(v); ++l) {
      const Vertex next = topology.link(*l).dst;
      if (std::exchange((*seen_by)[static_cast<std::size_t>(next)], src) == src) continue;
      if (topology.is_rank(next))
        peers.push_back(Rank{next});
      else
        frontier.push_back(next);
    }
  }
  std::sort(peers.begin(), peers.end());
  return peers;
}

/// A pair's route may pass a rank all the same, so as to stay in a host.
bool passes_rank(const Topology& topology, std::span<const int> path) {
  return std::any_of(path.begin(), path.end() - 1,
                     [&](int l) { return topology.is_rank(topology.link(l).dst); });
}

Hop hop_of(const Topology& topology, int index, std::int64_t chunk_bytes, LatencyModel latency) {
  const Link& link = topology.link(index);
  const Picoseconds serialization = link.message + serialization_time(chunk_bytes, link.bandwidth_Bps);
  const Picoseconds delay = serialization + link.latency;
  return {static_cast<std::uint32_t>(index), latency == LatencyModel::occupies ? delay : serialization,
          delay};
}

}  // namespace

std::vector<RankPair> peer_pairs(const Topology& topology) {
  std::vector<RankPair> pairs;
  std::vector<int> seen_by(static_cast<std::size_t>(topology.vertex_count()), -1);
  for (Rank src : indices<Rank>(topology.rank_count()))
    for (Rank dst : peers_of(topology, src, &seen_by)) pairs.push_back({src, dst});
  return pairs;
}

Channels::Channels(const Topology& topology, std::int64_t chunk_bytes, LatencyModel latency)
    : rank_count_(topology.rank_count()) {
  network_.link_count = static_cast<std::uint32_t>(topology.link_count());
  const std::vector<RankPair> pairs = peer_pairs(topology);
  heed_interrupt(kPerChannel * static_cast<std::int64_t>(pairs.size()));  // before any is set up
  const Routes routes(topology, pairs, static_cast<double>(chunk_bytes), Relays::where_needed);
  for (std::uint32_t p = 0; p < pairs.size(); ++p) {
    if (!passes_rank(topology, routes.path(p))) add(topology, pairs[p], routes.path(p), chunk_bytes, latency);
  }
  index_ends();
}

Channels::Channels(const Topology& topology, const std::vector<RankPair>& pairs, std::int64_t chunk_bytes,
                   LatencyModel latency)
    : rank_count_(topology.rank_count()) {
  network_.link_count = static_cast<std::uint32_t>(topology.link_count());
  const Routes routes(topology, pairs, static_cast<double>(chunk_bytes));
  for (std::uint32_t p = 0; p < pairs.size(); ++p)
    add(topology, pairs[p], routes.path(p), chunk_bytes, latency);
  index_ends();
}

void Channels::add(const Topology& topology, const RankPair& pair, std::span<const int> path,
                   std::int64_t chunk_bytes, LatencyModel latency) {
  network_.channels.push_back({pair.src, pair.dst});
  Picoseconds way = 0;
  for (const int l : path) {
    network_.hops.push_back(hop_of(topology, l, chunk_bytes, latency));
    way = within_longest(way + within_longest(network_.hops.back().delay));
  }
  network_.hop_offset.push_back(static_cast<std::uint32_t>(network_.hops.size()));
}

void Channels::index_ends() {
  const auto marks = static_cast<std::size_t>(rank_count_) + 1;
  out_offset_.assign(marks, 0);
  in_offset_.assign(marks, 0);
  for (const Channel& c : network_.channels) {
    ++out_offset_[static_cast<std::size_t>(c.src) + 1];
    ++in_offset_[static_cast<std::size_t>(c.dst) + 1];
  }
  for (std::size_t r = 1; r < marks; ++r) {
    out_offset_[r] += out_offset_[r - 1];
    in_offset_[r] += in_offset_[r - 1];
  }
  std::vector<std::uint32_t> next(in_offset_.begin(), in_offset_.end() - 1);
  in_.resize(network_.channels.size());
  for (std::uint32_t c = 0; c < count(); ++c)
    in_[next[static_cast<std::size_t>(network_.channels[c].dst)]++] = c;
}

Channels Channels::reversed() const {
  Channels turned;
  turned.rank_count_ = rank_count_;
  turned.network_.link_count = network_.link_count;
  for (const std::uint32_t c : in_) {
    turned.network_.channels.push_back({network_.channels[c].dst, network_.channels[c].src});
    const auto way = hops(c);
    heed_interrupt(2 * static_cast<std::int64_t>(way.size()));
    turned.network_.hops.insert(turned.network_.hops.end(), way.rbegin(), way.rend());
    turned.network_.hop_offset.push_back(static_cast<std::uint32_t>(turned.network_.hops.size()));
  }
  turned.index_ends();
  return turned;
}

std::uint32_t Channels::between(Rank src, Rank dst) const {
  const auto begin = network_.channels.begin() + first_out(src),
             end = network_.channels.begin() + first_out(src + 1);
  const auto found =
      std::lower_bound(begin, end, dst, [](const Channel& channel, Rank to) { return channel.dst < to; });
  return found != end && found->dst == dst ? static_cast<std::uint32_t>(found - network_.channels.begin())
                                           : count();
}

Picoseconds Channels::delay(std::uint32_t channel) const {
  Picoseconds sum = 0;
  for (const Hop& hop : hops(channel)) sum += hop.delay;
  return sum;
}

bool Channels::is_uniform() const {
  return !has_switches() && std::all_of(network_.hops.begin(), network_.hops.end(), [&](const Hop& hop) {
    return hop.busy == network_.hops[0].busy && hop.delay == network_.hops[0].delay;
  });
}

bool are_alike(const Channels& a, const Channels& b) {
  constexpr std::uint32_t kUnknown = ~0u;
  if (a.count() != b.count()) return false;
  std::vector<std::uint32_t> there(a.link_count(), kUnknown), back(b.link_count(), kUnknown);
  const auto matches = [&](const Hop& x, const Hop& y) {
    if (there[x.link] == kUnknown && back[y.link] == kUnknown) {
      there[x.link] = y.link;
      back[y.link] = x.link;
    }
    return there[x.link] == y.link && back[y.link] == x.link && x.busy == y.busy && x.delay == y.delay;
  };
  for (std::uint32_t c = 0; c < a.count(); ++c) {
    const auto x = a.hops(c), y = b.hops(c);
    if (a[c] != b[c] || !std::equal(x.begin(), x.end(), y.begin(), y.end(), matches)) return false;
  }
  return true;
}

}  // namespace hemiola::synthesis
