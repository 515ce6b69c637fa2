// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/builders/dgx.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "hemiola/topology/builders/hosts.hpp"

namespace hemiola::topologies {
namespace {

constexpr int kGpus = 8;

struct NvlinkPair {
  int a;
  int b;
  int count;
};

/// As `nvidia-smi topo -m` prints it on a DGX-1V: two fully connected quads, 0-3 and 4-7, and four doubled edges
/// between them; six NVLinks at every GPU.
constexpr std::array<NvlinkPair, 16> kHybridCubeMesh{{{0, 1, 1},
                                                      {0, 2, 1},
                                                      {0, 3, 2},
                                                      {1, 2, 2},
                                                      {1, 3, 1},
                                                      {2, 3, 2},
                                                      {4, 5, 1},
                                                      {4, 6, 1},
                                                      {4, 7, 2},
                                                      {5, 6, 2},
                                                      {5, 7, 1},
                                                      {6, 7, 2},
                                                      {0, 4, 2},
                                                      {1, 5, 2},
                                                      {2, 6, 1},
                                                      {3, 7, 1}}};

}  // namespace

Topology dgx1(LinkCost nvlink, Dgx1Options options) {
  Wiring wiring;
  for (const auto [a, b, count] : kHybridCubeMesh) {
    if (options.parallel_links) {
      for (int i = 0; i < count; ++i) wiring.both_ways(Vertex{a}, Vertex{b}, nvlink);
    } else {
      wiring.both_ways(Vertex{a}, Vertex{b}, {nvlink.latency, nvlink.bandwidth_Bps * count, nvlink.message});
    }
  }
  return Topology("DGX-1", kGpus, 0, wiring.take(), std::vector<int>(kGpus, 0));
}

Topology dgx_rack(const char* name, const DgxRack& rack) {
  Host box{kGpus, Wires::switched, rack.nvlink, {}};
  if (rack.box_count != 1) box.cards.assign(kGpus, rack.card);
  const Topology built = equal_hosts(rack.box_count, box, {rack.rails});
  const std::string count = rack.box_count == 1 ? "" : std::to_string(rack.box_count) + " x ";
  // The boxes' own switches come first.
  std::vector<SwitchAbility> abilities(static_cast<std::size_t>(built.switch_count()));
  std::fill_n(abilities.begin(), rack.box_count, rack.nvswitch);
  return Topology(count + name, built.rank_count(), built.switch_count(), built.links(), built.node_of_rank(),
                  built.nics(), {}, {0, std::move(abilities)});
}

}  // namespace hemiola::topologies
