// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/hops.hpp"

namespace hemiola {
namespace {

/// Breadth first; `next` calls its argument with every neighbour of a vertex.
template <typename Next>
std::vector<std::int32_t> hops(const Topology& topology, Vertex start, Next next) {
  std::vector<std::int32_t> far(static_cast<std::size_t>(topology.vertex_count()), -1);
  std::vector<Vertex> reached{start};
  far[static_cast<std::size_t>(start)] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::int32_t beyond = far[static_cast<std::size_t>(reached[i])] + 1;
    next(reached[i], [&](Vertex neighbour) {
      std::int32_t& distance = far[static_cast<std::size_t>(neighbour)];
      if (distance >= 0) return;
      distance = beyond;
      reached.push_back(neighbour);
    });
  }
  return far;
}

}  // namespace

std::vector<std::int32_t> hops_from(const Topology& topology, Vertex start) {
  return hops(topology, start, [&](Vertex v, const auto& visit) {
    for (const int* l = topology.out_begin(v); l != topology.out_end(v); ++l) visit(topology.link(*l).dst);
  });
}

std::vector<std::int32_t> hops_to(const Topology& topology, Vertex end) {
  return hops(topology, end, [&](Vertex v, const auto& visit) {
    for (const int* l = topology.in_begin(v); l != topology.in_end(v); ++l) visit(topology.link(*l).src);
  });
}

}  // namespace hemiola
