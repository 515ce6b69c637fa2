// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bounds/distance.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>

#include "hemiola/base/interrupt.hpp"

namespace hemiola::bounds {

std::vector<Picoseconds> least_latency(const Topology& topology, std::span<const Vertex> sources,
                                       Direction direction) {
  heed_interrupt(topology.vertex_count() + topology.link_count());
  std::vector<Picoseconds> latency(static_cast<std::size_t>(topology.vertex_count()), kUnreachable);
  using Entry = std::pair<Picoseconds, Vertex>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
  const auto offer = [&](Vertex v, Picoseconds candidate) {
    Picoseconds& known = latency[static_cast<std::size_t>(v)];
    if (candidate >= known) return;
    known = candidate;
    next.emplace(candidate, v);
  };
  for (Vertex v : sources) offer(v, 0);
  const bool forward = direction == Direction::from_sources;
  while (!next.empty()) {
    const auto [here, v] = next.top();
    next.pop();
    if (here > latency[static_cast<std::size_t>(v)]) continue;
    const int* end = forward ? topology.out_end(v) : topology.in_end(v);
    for (const int* l = forward ? topology.out_begin(v) : topology.in_begin(v); l != end; ++l) {
      const Link& link = topology.link(*l);
      offer(forward ? link.dst : link.src, sum_of(here, link.latency));
    }
  }
  return latency;
}

std::vector<int> fewest_senders(const Topology& topology, Rank end, Direction direction) {
  constexpr int unreached = std::numeric_limits<int>::max();
  heed_interrupt(topology.vertex_count() + topology.link_count());
  std::vector<int> senders(static_cast<std::size_t>(topology.vertex_count()), unreached);
  const bool forward = direction == Direction::from_sources;
  std::deque<std::pair<int, Vertex>> next{{0, Vertex{end}}};  // by count, which grows by at most one
  senders[static_cast<std::size_t>(end)] = 0;
  while (!next.empty()) {
    const auto [here, v] = next.front();
    next.pop_front();
    if (here > senders[static_cast<std::size_t>(v)]) continue;
    const int* last = forward ? topology.out_end(v) : topology.in_end(v);
    for (const int* l = forward ? topology.out_begin(v) : topology.in_begin(v); l != last; ++l) {
      const Link& link = topology.link(*l);
      const Vertex far = forward ? link.dst : link.src;
      const bool is_sent = topology.is_rank(link.src);
      if (here + is_sent >= senders[static_cast<std::size_t>(far)]) continue;
      senders[static_cast<std::size_t>(far)] = here + is_sent;
      if (is_sent)
        next.emplace_back(here + 1, far);
      else
        next.emplace_front(here, far);
    }
  }
  std::replace(senders.begin(), senders.end(), unreached, -1);
  return senders;
}

}  // namespace hemiola::bounds
