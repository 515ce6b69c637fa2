#include "hemiola/bounds/distance.hpp"

#include <functional>
#include <queue>
#include <utility>

namespace hemiola::bounds {

std::vector<Picoseconds> least_latency(const Topology& topology, std::span<const Vertex> sources,
                                       Direction direction) {
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
      offer(forward ? link.dst : link.src, here + link.latency);
    }
  }
  return latency;
}

}  // namespace hemiola::bounds
