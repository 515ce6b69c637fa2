// SPDX-License-Identifier: Apache-2.0
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
void wire_port(Wiring& wiring, const Row& box, Vertex port, LinkCost cost, const std::string& nic) {
  const int first_link = wiring.link_count();
  for (int i = 0; i < box.size; ++i) wiring.both_ways(box.at(i), port, half_way(half_way(cost)));
  wiring.name_nic(nic, box.first / box.size, first_link);
}

/// The next name for a cable's end at a box: nic0, nic1, … in the order of the cables.
std::string nic_name(std::vector<int>& port_count, int box) {
  return "nic" + std::to_string(port_count[static_cast<std::size_t>(box)]++);
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
  std::vector<int> port_count(static_cast<std::size_t>(box_count), 0);  // so far, of each box
  for (const Cable& cable : cables) {
    const std::string name_a = nic_name(port_count, cable.a), name_b = nic_name(port_count, cable.b);
    Vertex end_a{cable.a}, end_b{cable.b};
    LinkCost between = cable.cost;
    if (n > 1) {
      end_a = Vertex{next_vertex++};
      end_b = Vertex{next_vertex++};
      wire_port(wiring, row_of(cable.a), end_a, cable.cost, name_a);
      wire_port(wiring, row_of(cable.b), end_b, cable.cost, name_b);
      between.latency -= 2 * half_way(half_way(cable.cost)).latency;
    }
    const int first_link = wiring.link_count();
    wiring.both_ways(end_a, end_b, between);
    wiring.name_nic(name_a, cable.a, first_link);
    wiring.name_nic(name_b, cable.b, first_link);
  }
  const std::string name = "boxes " + std::to_string(box_count) + "x" + std::to_string(n) + ", " +
                           std::to_string(cables.size()) + " cables";
  std::vector<Nic> nics = wiring.take_nics();
  return Topology(name, rank_count, next_vertex - rank_count, wiring.take(), std::move(node_of_rank),
                  std::move(nics));
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
