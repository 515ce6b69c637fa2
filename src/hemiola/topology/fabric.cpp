// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/fabric.hpp"

#include <algorithm>
#include <map>

#include "hemiola/base/index.hpp"

namespace hemiola {
namespace {

/// Which switches belong together: a union-find over all vertices, in which only switches are ever joined.
class Parts {
 public:
  explicit Parts(const Topology& topology) {
    for (Vertex v : indices<Vertex>(topology.vertex_count())) parent_.push_back(v);
    for (const Link& link : topology.links())
      if (!topology.is_rank(link.src) && !topology.is_rank(link.dst))
        parent_[at(of(link.src))] = of(link.dst);
  }
  Vertex of(Vertex v) {
    for (; parent_[at(v)] != v; v = parent_[at(v)]) parent_[at(v)] = parent_[at(parent_[at(v)])];
    return v;
  }

 private:
  std::vector<Vertex> parent_;
};

std::vector<Link> merge_parallel(const std::vector<Link>& links) {
  std::map<std::pair<Vertex, Vertex>, std::size_t> place;
  std::vector<Link> merged;
  for (const Link& link : links) {
    const auto [it, is_new] = place.try_emplace({link.src, link.dst}, merged.size());
    if (is_new) {
      merged.push_back(link);
      continue;
    }
    Link& sum = merged[it->second];
    sum.bandwidth_Bps += link.bandwidth_Bps;
    sum.latency = std::max(sum.latency, link.latency);
    sum.message = std::max(sum.message, link.message);
  }
  return merged;
}

void sort_links(const Topology& topology, Fabric* fabric) {
  for (std::size_t l = 0; l < fabric->links.size(); ++l) {
    const Link& link = fabric->links[l];
    auto& group = topology.is_rank(link.src)   ? fabric->entering[link.src]
                  : topology.is_rank(link.dst) ? fabric->leaving[link.dst]
                                               : fabric->crossing[link.src];
    group.push_back(static_cast<int>(l));
  }
}

}  // namespace

std::vector<Fabric> fabrics_of(const Topology& topology) {
  Parts parts(topology);
  std::map<Vertex, std::size_t> number;
  std::vector<Fabric> fabrics;
  for (const Link& link : topology.links()) {
    if (topology.is_rank(link.src) && topology.is_rank(link.dst)) continue;
    const Vertex part = parts.of(topology.is_rank(link.src) ? link.dst : link.src);
    const auto [it, is_new] = number.try_emplace(part, fabrics.size());
    if (is_new) fabrics.emplace_back();
    fabrics[it->second].links.push_back(link);
  }
  for (Fabric& fabric : fabrics) {
    fabric.links = merge_parallel(fabric.links);
    sort_links(topology, &fabric);
  }
  return fabrics;
}

FabricPaths::FabricPaths(const Fabric& fabric, Rank src) : fabric_(fabric) {
  std::vector<Vertex> reached;
  const auto entering = fabric.entering.find(Vertex{src});
  if (entering == fabric.entering.end()) return;
  for (int l : entering->second) relax({0, 0}, l, &reached);
  // `reached` grows level by level: before a switch's turn comes, all that are nearer have had theirs
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto crossing = fabric.crossing.find(reached[i]);
    if (crossing == fabric.crossing.end()) continue;
    const Score score = reach_.at(reached[i]).score;
    for (int l : crossing->second) relax(score, l, &reached);
  }
}

void FabricPaths::relax(const Score& before, int l, std::vector<Vertex>* reached) {
  const Score score = beyond(before, l);
  const auto [it, is_new] = reach_.try_emplace(link(l).dst, Reach{score, {}});
  if (is_new) reached->push_back(link(l).dst);
  Reach& reach = it->second;
  if (score < reach.score) reach = Reach{score, {}};
  if (score == reach.score) reach.last_links.push_back(l);
}

std::vector<int> FabricPaths::path_to(Rank dst, int turn) const {
  Reach end;
  const auto leaving = fabric_.leaving.find(Vertex{dst});
  if (leaving == fabric_.leaving.end()) return {};
  for (int l : leaving->second) {
    const auto from = reach_.find(link(l).src);
    if (from == reach_.end()) continue;
    const Score score = beyond(from->second.score, l);
    if (end.last_links.empty() || score < end.score) end = Reach{score, {}};
    if (score == end.score) end.last_links.push_back(l);
  }
  std::vector<int> path;
  for (const Reach* at = &end; !at->last_links.empty();) {
    const auto count = static_cast<int>(at->last_links.size());
    path.push_back(at->last_links[static_cast<std::size_t>(turn % count)]);
    const auto before = reach_.find(link(path.back()).src);
    if (before == reach_.end()) break;  // that is the rank where the path begins
    at = &before->second;
  }
  return path;
}

}  // namespace hemiola
