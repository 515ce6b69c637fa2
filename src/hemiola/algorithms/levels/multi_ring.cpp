// SPDX-License-Identifier: Apache-2.0
// Two nodes of four ranks with two NICs: 0 and 1 use the one, 2 and 3 the other. Each chunk is cut in two:
//
//   ring 0   0 → 1 → 2 → 3 ⇒ 4 → 5 → 6 → 7 ⇒ 0      out through 3's NIC, in through 0's
//   ring 1   2 → 3 → 0 → 1 ⇒ 6 → 7 → 4 → 5 ⇒ 2      out through 1's NIC, in through 2's
#include "hemiola/algorithms/levels/multi_ring.hpp"

#include <algorithm>
#include <string>

#include "hemiola/algorithms/layout_argument.hpp"
#include "hemiola/algorithms/levels/mirrored.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

constexpr int kMaxNics = 4096;

/// All ranks, node by node, each node's from the ring's entry on.
std::vector<Rank> order_of(const NodeLayout& layout, int ring, int nics) {
  std::vector<Rank> order;
  for (int node = 0; node < layout.node_count(); ++node) {
    const int size = layout.size(node);
    const auto entry = static_cast<int>(std::int64_t{ring} * size / nics);
    for (int i = 0; i < size; ++i) order.push_back(layout.rank(node, (entry + i) % size));
  }
  return order;
}

/// The formula of a ring on a network of nodes. The longest of three counts: its hops one after the other, a
/// NIC's time, or the time of a rank's port inside its node.
double gather_seconds(const NodeNetwork& network, double nbytes, int rank_count) {
  const double n = rank_count, nodes = network.node_count, per_node = network.ranks_per_node;
  const double nics = network.nic_count, chunk = nbytes / (n * nics);
  const double inside = network.inside.s_per_byte / std::max(1.0, per_node - 1);
  const double alone = network.near.s_per_byte / std::max(1.0, per_node / nics);  // one rank on the NIC
  const double hops = nodes * (per_node - 1) * (network.inside.latency_s + chunk * inside) +
                      (nodes - 1) * (network.near.latency_s + chunk * alone);
  return std::max({hops, (n - 1) * chunk * alone, (n - 1) * chunk * nics * inside});
}

std::vector<Variant> variants(const Task& task) {
  const NodeNetwork* network = task.nodes();
  if (network == nullptr || network->ranks_per_node == 1) return {};
  const int phases = task.kind == CollectiveKind::all_reduce ? 2 : 1;
  const double gather_s = gather_seconds(*network, static_cast<double>(task.nbytes), task.rank_count);
  return {{.formula_s = task.delay_s() + phases * gather_s,
           .transfer_count = mirrored_transfers(task.kind, task.rank_count, network->nic_count)}};
}

constexpr Paper kNccl{"nccl2015", "NCCL 2015"};

constexpr const char* kDoc = R"(

Each ring leaves a node through another NIC than the others, which is how NCCL and RCCL use all of them.

Parameters
----------
nodes : int >= 1.
ranks_per_node : int >= 1, or one for each node.
nics : int >= 1, NICs of a node, each of which serves as many ranks of consecutive numbers.
node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.

Returns
-------
Schedule

Raises
------
ArgumentError
    if a count is out of range, node_of_rank says something else than the counts, or the schedule would have more than
    2**28 transfers.

Notes
-----
n - 1 steps, twice that for an all-reduce. With N nodes of M ranks, c = m/(nK) for K NICs: the larger of N(M-1)(α inside +
c/b) + (N-1)(α + c/B) and (n-1)/n·m/(KB). A ring through ranks in order, with one NIC a node busy in each direction, is
[PCCL, Fig. 3]'s measurement of MPICH, taken there for a fault of its routing.)";

Algorithm row(CollectiveKind kind, const std::string_view name, std::string_view idea) {
  const std::string called(name);
  return {
      .name = name,
      .kind = kind,
      .paper = kNccl,
      .idea = idea,
      .sizes = "any nodes of any ranks",
      .chunks_formula = "",
      .steps_formula = "",
      .bytes_formula = "",
      .formula = "",
      .needs = Needs::topology,
      .functions = {function(
          called,
          {required("nodes"), required("ranks_per_node"), required("nics"),
           keyword(optional("node_of_rank"))},
          std::string(idea) + kDoc,
          [kind, called](int nodes, const Counts& ranks_per_node, int nics, const NodeOfRank& node_of_rank) {
            return multi_ring(kind, layout_of(called, {nodes, ranks_per_node, node_of_rank}), nics);
          })},
      .why_not = why_no_nodes,
      .variants = variants};
}

}  // namespace

Schedule multi_ring(CollectiveKind kind, const NodeLayout& layout, int nics) {
  const std::string name = std::string(name_of(kind)) + "_multi_ring";
  if (nics < 1 || nics > kMaxNics)
    throw ArgumentError(name + ": expected 1 … " + std::to_string(kMaxNics) + " nics, found " +
                        std::to_string(nics));
  const int n = layout.rank_count();
  std::vector<std::vector<Rank>> orders;
  for (int ring = 0; ring < nics; ++ring) orders.push_back(order_of(layout, ring, nics));
  return mirrored(name, {kind, n - 1}, n, nics, [&](auto visit) {
    for (int step = 0; step < n - 1; ++step)
      for (int ring = 0; ring < nics; ++ring)
        for (int place = 0; place < n; ++place) {
          const auto at = [&](int p) {
            return orders[static_cast<std::size_t>(ring)][static_cast<std::size_t>((p + n) % n)];
          };
          visit(Transfer{Step{step}, at(place), at(place + 1), Chunk{at(place - step) * nics + ring}, false});
        }
  });
}

std::vector<Algorithm> multi_ring_algorithms() {
  return {
      row(CollectiveKind::all_gather, "all_gather_multi_ring",
          "All-gather along as many rings as a node has NICs."),
      row(CollectiveKind::reduce_scatter, "reduce_scatter_multi_ring",
          "Reduce-scatter along as many rings as a node has NICs."),
      row(CollectiveKind::all_reduce, "all_reduce_multi_ring",
          "All-reduce along as many rings as a node has NICs."),
  };
}

}  // namespace hemiola::algorithms
