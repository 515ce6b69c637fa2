// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/forest/rooted_tree.hpp"

#include <utility>

#include "hemiola/base/index.hpp"

namespace hemiola::synthesis {
RootedTree hang(int vertex_count, const std::vector<bounds::Edge>& graph, const std::vector<int>& tree,
                int root) {
  std::vector<std::vector<std::pair<int, int>>> next(at(vertex_count));
  for (const int e : tree) {
    next[at(graph[at(e)].a)].emplace_back(graph[at(e)].b, e);
    next[at(graph[at(e)].b)].emplace_back(graph[at(e)].a, e);
  }
  RootedTree hung;
  hung.parent.assign(at(vertex_count), -1);
  hung.edge = hung.part = hung.parent;
  hung.depth.assign(at(vertex_count), 0);
  for (int i = 0; i < vertex_count; ++i) {
    const int first = i == 0 ? root : i == root ? 0 : i;
    if (hung.part[at(first)] >= 0) continue;
    hung.part[at(first)] = first;
    hung.order.push_back(first);
    for (std::size_t reached = hung.order.size() - 1; reached < hung.order.size(); ++reached) {
      const int above = hung.order[reached];
      for (const auto& [v, e] : next[at(above)]) {
        if (hung.part[at(v)] >= 0) continue;
        hung.part[at(v)] = first;
        hung.parent[at(v)] = above;
        hung.edge[at(v)] = e;
        hung.depth[at(v)] = hung.depth[at(above)] + 1;
        hung.order.push_back(v);
      }
    }
  }
  return hung;
}

RootedTree hang_by_center(int vertex_count, const std::vector<bounds::Edge>& graph,
                          const std::vector<int>& tree) {
  // The vertex farthest from any vertex is one end of a longest path; the one farthest from there is the
  // other.
  const int end = hang(vertex_count, graph, tree, 0).order.back();
  const RootedTree along = hang(vertex_count, graph, tree, end);
  int center = along.order.back();
  for (int up = along.height() / 2; up > 0; --up) center = along.parent[at(center)];
  return hang(vertex_count, graph, tree, center);
}

}  // namespace hemiola::synthesis
