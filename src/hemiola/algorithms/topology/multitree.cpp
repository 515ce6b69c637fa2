// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/topology/multitree.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

/// One edge of a tree: the step in which the root's chunk crosses it on its way down.
struct Edge {
  int step;
  Rank from;
  Rank to;
  Rank root;
};

/// The neighbours that every rank can send to, one entry per link, in the order of rank numbers.
using Neighbours = std::vector<std::vector<Rank>>;

enum class Direction { forwards, backwards };

Neighbours neighbours_of(const Topology& topology, Direction direction) {
  Neighbours neighbours(static_cast<std::size_t>(topology.rank_count()));
  for (const Link& link : topology.links()) {
    const auto [from, to] =
        direction == Direction::forwards ? std::pair(link.src, link.dst) : std::pair(link.dst, link.src);
    neighbours[static_cast<std::size_t>(from)].push_back(Rank{to});
  }
  for (auto& list : neighbours) std::sort(list.begin(), list.end());
  return neighbours;
}

/// A growing tree. Its ranks stand in the order in which they were added; those of this step cannot send yet.
class Tree {
 public:
  Tree(Rank root, int rank_count) : members_{root}, reached_(static_cast<std::size_t>(rank_count)) {
    reached_[static_cast<std::size_t>(root)] = true;
  }

  Rank root() const { return members_.front(); }
  bool is_complete() const { return members_.size() == reached_.size(); }
  bool reaches(Rank rank) const { return reached_[static_cast<std::size_t>(rank)]; }

  void begin_step() {
    senders_ = members_.size();
    candidate_ = exhausted_;
  }

  /// Adds the first edge that it can and takes its link out of `free`; returns false when there is none in this
  /// step.
  bool grow(Neighbours* free, int step, std::vector<Edge>* edges) {
    for (; candidate_ < senders_; ++candidate_) {
      const Rank from = members_[candidate_];
      auto& links = (*free)[static_cast<std::size_t>(from)];
      const auto link = std::find_if(links.begin(), links.end(), [&](Rank to) { return !reaches(to); });
      if (link == links.end()) continue;
      const Rank to = *link;
      links.erase(link);
      reached_[static_cast<std::size_t>(to)] = true;
      members_.push_back(to);
      edges->push_back({step, from, to, root()});
      return true;
    }
    return false;
  }

  /// Forgets the oldest ranks all of whose neighbours have been reached.
  void end_step(const Neighbours& all) {
    const auto is_done = [&](Rank from) {
      const auto& links = all[static_cast<std::size_t>(from)];
      return std::all_of(links.begin(), links.end(), [&](Rank to) { return reaches(to); });
    };
    while (exhausted_ < members_.size() && is_done(members_[exhausted_])) ++exhausted_;
  }

 private:
  std::vector<Rank> members_;
  std::vector<bool> reached_;
  std::size_t senders_ = 0;    ///< how many members were there before this step
  std::size_t candidate_ = 0;  ///< the first member that may still find an edge in this step
  std::size_t exhausted_ = 0;  ///< how many members will never find one again
};

/// All trees take turns until no tree finds an edge; returns false when none did.
bool grow_step(std::vector<Tree>* trees, const Neighbours& all, int step, std::vector<Edge>* edges) {
  Neighbours free = all;
  const std::size_t before = edges->size();
  std::vector<Tree*> growing;
  for (Tree& tree : *trees) {
    if (tree.is_complete()) continue;
    tree.begin_step();
    growing.push_back(&tree);
  }
  while (!growing.empty())
    std::erase_if(growing,
                  [&](Tree* tree) { return !tree->grow(&free, step, edges) || tree->is_complete(); });
  for (Tree& tree : *trees)
    if (!tree.is_complete()) tree.end_step(all);
  return edges->size() > before;
}

void check_no_switches(const Topology& topology) {
  if (topology.switch_count() > 0)
    throw ArgumentError("multitree: expected a topology without switches, found " +
                        std::to_string(topology.switch_count()) + "; unwind them into links first");
}

[[noreturn]] void throw_unreachable(const std::vector<Tree>& trees, int rank_count, Direction direction) {
  for (const Tree& tree : trees)
    for (Rank rank : indices<Rank>(rank_count)) {
      if (tree.reaches(rank)) continue;
      const bool forwards = direction == Direction::forwards;
      throw ArgumentError(
          "multitree: expected a topology in which all ranks reach each other, found no path from rank " +
          std::to_string(forwards ? tree.root() : rank) + " to rank " +
          std::to_string(forwards ? rank : tree.root()));
    }
  throw InternalError("multitree: no tree grows, though none lacks a rank");
}

std::vector<Edge> grow_trees(const Topology& topology, Direction direction) {
  check_no_switches(topology);
  const int n = topology.rank_count();
  const Neighbours all = neighbours_of(topology, direction);
  std::vector<Tree> trees;
  for (Rank root : indices<Rank>(n)) trees.emplace_back(root, n);
  std::vector<Edge> edges;
  const auto edge_count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n - 1);
  edges.reserve(edge_count);
  for (int step = 0; edges.size() < edge_count; ++step)
    if (!grow_step(&trees, all, step, &edges)) throw_unreachable(trees, n, direction);
  return edges;
}

int step_count(const std::vector<Edge>& edges) {
  return edges.empty() ? 0 : edges.back().step + 1;
}

void add_gather_phase(ScheduleBuilder* builder, const Topology& topology, int first_step) {
  for (const Edge& edge : grow_trees(topology, Direction::forwards))
    builder->copy(Step{first_step + edge.step}, edge.from, edge.to, Chunk{edge.root});
}

/// Returns how many steps it took.
int add_reduce_phase(ScheduleBuilder* builder, const Topology& topology) {
  const std::vector<Edge> edges = grow_trees(topology, Direction::backwards);
  for (const Edge& edge : edges)
    builder->reduce(Step{step_count(edges) - 1 - edge.step}, edge.to, edge.from, Chunk{edge.root});
  return step_count(edges);
}

ScheduleBuilder builder_for(CollectiveKind kind, const Topology& topology) {
  return ScheduleBuilder(Collective::make(kind, topology.rank_count(), topology.rank_count()));
}

bool reaches_all(const Neighbours& neighbours) {
  std::vector<bool> reached(neighbours.size(), false);
  std::vector<Rank> open{Rank{0}};
  reached[0] = true;
  while (!open.empty()) {
    const Rank from = open.back();
    open.pop_back();
    for (Rank to : neighbours[static_cast<std::size_t>(from)]) {
      if (reached[static_cast<std::size_t>(to)]) continue;
      reached[static_cast<std::size_t>(to)] = true;
      open.push_back(to);
    }
  }
  return std::find(reached.begin(), reached.end(), false) == reached.end();
}

std::string why_not(const Task& task) {
  if (task.topology->switch_count() > 0)
    return "expected a topology without switches, found " + std::to_string(task.topology->switch_count());
  for (const Direction direction : {Direction::forwards, Direction::backwards})
    if (!reaches_all(neighbours_of(*task.topology, direction)))
      return "expected links by which every rank reaches all others";
  return "";
}

constexpr Paper kHuang{"huang2021", "Huang, Majumder, Kim, Muzahid, Yum, Kim 2021"};

constexpr const char* kDoc =
    R"(Grow one tree per rank, all at once, so that no link is used twice in a step.

Parameters
----------
topology : Topology without switches, in which all ranks reach each other. Links count as alike.

Returns
-------
Schedule, one chunk per rank.

Raises
------
ArgumentError
    if the topology has switches, or some rank cannot reach another.

Notes
-----
Deterministic. At most one chunk a link and step; steps are close to (n-1) / smallest degree on meshes and tori. About
0.7 s for a 32 x 32 torus. Trees take turns and add one edge a turn [huang2021]; the reduce-scatter is the all-gather
over the reversed links, backwards, and the all-reduce is one after the other.)";

Algorithm multitree(std::string_view name, CollectiveKind kind, std::string_view idea,
                    Schedule (*make)(const Topology&)) {
  return {.name = name,
          .kind = kind,
          .paper = kHuang,
          .idea = idea,
          .sizes = "without switches, links alike",
          .chunks_formula = "n",
          .steps_formula = "",
          .bytes_formula = "",
          .formula = "",
          .needs = Needs::topology,
          .functions = {function(std::string(name), {required("topology")}, kDoc,
                                 [make](const Topology& topology) { return make(topology); })},
          .why_not = why_not};
}

}  // namespace

Schedule all_gather_multitree(const Topology& topology) {
  ScheduleBuilder builder = builder_for(CollectiveKind::all_gather, topology);
  add_gather_phase(&builder, topology, 0);
  return builder.finish();
}

Schedule reduce_scatter_multitree(const Topology& topology) {
  ScheduleBuilder builder = builder_for(CollectiveKind::reduce_scatter, topology);
  add_reduce_phase(&builder, topology);
  return builder.finish();
}

Schedule all_reduce_multitree(const Topology& topology) {
  ScheduleBuilder builder = builder_for(CollectiveKind::all_reduce, topology);
  const int steps = add_reduce_phase(&builder, topology);
  add_gather_phase(&builder, topology, steps);
  return builder.finish();
}

std::vector<Algorithm> multitree_algorithms() {
  return {
      multitree("all_gather_multitree", CollectiveKind::all_gather,
                "One tree per rank, all grown at once, no link used twice in a step.", all_gather_multitree),
      multitree("reduce_scatter_multitree", CollectiveKind::reduce_scatter,
                "The all-gather over the reversed links, backwards.", reduce_scatter_multitree),
      multitree("all_reduce_multitree", CollectiveKind::all_reduce,
                "The reduce-scatter, then the all-gather, of the same trees.", all_reduce_multitree),
  };
}

}  // namespace hemiola::algorithms
