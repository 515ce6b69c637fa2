// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/topology/mesh_trees_cost.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "hemiola/algorithms/topology/mesh_shapes.hpp"
#include "hemiola/base/units.hpp"

namespace hemiola::algorithms {
namespace {

/// Of all trees together.
struct Chunks {
  std::int64_t count = 0;
  double bytes = 0;  ///< of the largest
};

Chunks chunks_of(const std::vector<Bundle>& bundles, const MeshLoad& load) {
  const double largest = largest_share(bundles);
  Chunks all;
  double part = 0;
  for (const Bundle& bundle : bundles) {
    const int each = bundle.chunks(largest, load.chunk_count);
    all.count += each * bundle.tree_count;
    part = std::max(part, bundle.share / each);
  }
  all.bytes = std::ceil(part * static_cast<double>(load.nbytes));
  return all;
}

/// The part of the buffer that the busiest link of each dimension carries each way.
std::vector<double> loads_of(const Mesh& mesh, const std::vector<Bundle>& bundles) {
  std::vector<double> loads(mesh.dimension_count());
  for (const Bundle& bundle : bundles) {
    const std::vector<double> parts = carried(mesh, bundle.order);
    for (std::size_t i = 0; i < loads.size(); ++i)
      loads[i] += parts[i] * bundle.share * static_cast<double>(bundle.tree_count);
  }
  return loads;
}

}  // namespace

MeshTreesCost mesh_trees_cost(const MeshLoad& load) {
  const Mesh mesh(load.dimensions, load.line_count);
  const std::vector<Bundle> bundles = bundles_of(mesh);
  const Chunks chunks = chunks_of(bundles, load);
  const std::vector<double> loads = loads_of(mesh, bundles);
  double busiest_s = 0, across_s = 0;
  std::vector<double> hop_s;
  for (std::size_t i = 0; i < mesh.dimension_count(); ++i) {
    const topologies::LinkCost& cost = load.dimensions[static_cast<std::size_t>(mesh.wide[i])].cost;
    const double message_s = to_seconds(cost.message);
    const double whole_s = static_cast<double>(load.nbytes) / cost.bandwidth_Bps;
    busiest_s = std::max(busiest_s, loads[i] * (whole_s + static_cast<double>(chunks.count) * message_s));
    hop_s.push_back(to_seconds(cost.latency) + chunks.bytes / cost.bandwidth_Bps + message_s);
    across_s += (mesh.size(i) - 1) * hop_s.back();
  }
  double seconds = busiest_s + across_s;
  for (const Bundle& bundle : bundles) {
    const Shape deepest = shape_of(mesh, bundle, 0);
    double up_and_down_s = 0;
    for (std::size_t i = 0; i < mesh.dimension_count(); ++i)
      up_and_down_s += 2 * reach(mesh, deepest, i) * hop_s[i];
    seconds = std::max(seconds, up_and_down_s);
  }
  return {seconds, 2 * (std::int64_t{mesh.grid.rank_count()} - 1) * chunks.count};
}

}  // namespace hemiola::algorithms
