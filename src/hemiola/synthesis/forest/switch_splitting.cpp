// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/forest/switch_splitting.hpp"

#include <algorithm>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/progress.hpp"

namespace hemiola::synthesis {
namespace {

void join(CapacityGraph* graph, int from, int through, int to, std::int64_t amount) {
  graph->at(from, through) -= amount;
  graph->at(through, to) -= amount;
  if (from != to) graph->at(from, to) += amount;
}

/// Joins as much as leaves room for the trees. No cut loses more than the joined bandwidth, so the missing
/// bandwidth afterwards says how much was too much.
void join_as_much_as_fits(CapacityGraph* graph, int from, int through, int to, const TreesFrom& trees) {
  const std::int64_t amount = std::min(graph->at(from, through), graph->at(through, to));
  if (amount == 0) return;
  join(graph, from, through, to, amount);
  if (const std::int64_t missing = std::min(amount, graph->shortfall(trees)); missing > 0)
    join(graph, from, through, to, -missing);
}

std::int64_t entering(const CapacityGraph& graph, int vertex) {
  std::int64_t sum = 0;
  for (int from = 0; from < graph.vertex_count(); ++from) sum += graph.at(from, vertex);
  return sum;
}

}  // namespace

CapacityGraph without_switches(CapacityGraph graph, const TreesFrom& trees) {
  const int vertices = graph.vertex_count();
  Parts parts(double(vertices - graph.rank_count()) * vertices);
  for (int through = graph.rank_count(); through < vertices; ++through) {
    // To the nearest rank behind it first: rings rather than stars, so that ports keep few partners.
    for (int distance = 1; distance <= vertices; ++distance) {
      parts.next();
      for (int from = 0; from < vertices; ++from)
        if (from != through) join_as_much_as_fits(&graph, from, through, (from + distance) % vertices, trees);
    }
    if (entering(graph, through) > 0)
      throw ArgumentError("forest: switch " + std::to_string(through) +
                          " lets more in than out, so it cannot be replaced by links. Use synthesize.");
  }
  return graph;
}

}  // namespace hemiola::synthesis
