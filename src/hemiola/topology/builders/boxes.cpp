#include "hemiola/topology/builders/boxes.hpp"

#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola::topologies {
namespace {

/// Ranks of a box reach each other without a port, so most boxes are small; this keeps all pairs of boxes small too.
constexpr int kMaxBoxes = 4096;

void check_arguments(int box_count, const std::vector<Cable>& cables, const BoxOptions& options) {
  check_range("boxes", "a number of boxes", box_count, 1, kMaxBoxes);
  check_range("boxes", "ranks per box", options.ranks_per_box, 1, 4096);
  for (std::size_t c = 0; c < cables.size(); ++c) {
    const auto [a, b, cost] = cables[c];
    const std::string where =
        "boxes: cable " + std::to_string(c) + " (" + std::to_string(a) + " - " + std::to_string(b) + "): ";
    if (a < 0 || b < 0 || a >= box_count || b >= box_count)
      throw ArgumentError(where + "expected boxes 0 … " + std::to_string(box_count - 1));
    if (a == b) throw ArgumentError(where + "a cable must join two different boxes");
  }
  const std::int64_t inside = links_in_row(options.inside, options.ranks_per_box);
  const std::int64_t cable_count = static_cast<std::int64_t>(cables.size());
  check_size("boxes", std::int64_t{box_count} * (options.ranks_per_box + 1) + 2 * cable_count,
             box_count * inside + cable_count * (4 * options.ranks_per_box + 2));
}

/// One end of a cable: a quarter of its latency lies between the ranks and the port, a half on the cable itself.
void wire_port(Wiring& wiring, const Row& box, Vertex port, LinkCost cost) {
  for (int i = 0; i < box.size; ++i) wiring.both_ways(box.at(i), port, half_way(half_way(cost)));
}

}  // namespace

Topology boxes(int box_count, const std::vector<Cable>& cables, const BoxOptions& options) {
  check_arguments(box_count, cables, options);
  const int n = options.ranks_per_box;
  const int rank_count = box_count * n;
  const bool has_inner_switch = needs_switch(options.inside, n);
  const auto row_of = [n](int box) { return Row{box * n, 1, n}; };
  Wiring wiring;
  std::vector<int> node_of_rank;
  for (int box = 0; box < box_count; ++box) {
    wire_row(wiring, row_of(box), options.inside, options.local, Vertex{rank_count + box});
    node_of_rank.insert(node_of_rank.end(), static_cast<std::size_t>(n), box);
  }
  int next_vertex = rank_count + (has_inner_switch ? box_count : 0);
  for (const Cable& cable : cables) {
    if (n == 1) {
      wiring.both_ways(Vertex{cable.a}, Vertex{cable.b}, cable.cost);
      continue;
    }
    const Vertex port_a{next_vertex++}, port_b{next_vertex++};
    wire_port(wiring, row_of(cable.a), port_a, cable.cost);
    wire_port(wiring, row_of(cable.b), port_b, cable.cost);
    const LinkCost ends = half_way(half_way(cable.cost));
    wiring.both_ways(port_a, port_b, {cable.cost.latency - 2 * ends.latency, cable.cost.bandwidth_Bps});
  }
  const std::string name = "boxes " + std::to_string(box_count) + "x" + std::to_string(n) + ", " +
                           std::to_string(cables.size()) + " cables";
  return Topology(name, rank_count, next_vertex - rank_count, wiring.take(), std::move(node_of_rank));
}

std::vector<std::pair<int, int>> ring_of_boxes(int box_count) {
  check_range("boxes", "a number of boxes", box_count, 1, kMaxBoxes);
  std::vector<std::pair<int, int>> pairs;
  for (int box = 0; box + 1 < box_count; ++box) pairs.emplace_back(box, box + 1);
  if (box_count > 2) pairs.emplace_back(box_count - 1, 0);
  return pairs;
}

std::vector<std::pair<int, int>> all_pairs_of_boxes(int box_count) {
  check_range("boxes", "a number of boxes", box_count, 1, kMaxBoxes);
  std::vector<std::pair<int, int>> pairs;
  for (int a = 0; a < box_count; ++a)
    for (int b = a + 1; b < box_count; ++b) pairs.emplace_back(a, b);
  return pairs;
}

}  // namespace hemiola::topologies
