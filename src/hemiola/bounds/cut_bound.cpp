// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "hemiola/base/progress.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/bounds/bottleneck_cut.hpp"
#include "hemiola/bounds/problem.hpp"

namespace hemiola::bounds {
namespace {

/// Ranks times links that the searches may look at: about a second.
constexpr std::int64_t kMostCutWork = 50'000'000;

std::string list_ranks(const Cut& cut, int rank_count) {
  constexpr int kNamed = 8;
  // The smaller side says more.
  const bool names_inside = 2 * cut.ranks_inside <= rank_count;
  std::string text;
  int count = 0;
  for (int rank = 0; rank < rank_count; ++rank)
    if (cut.inside[static_cast<std::size_t>(rank)] == names_inside && ++count <= kNamed)
      text += (count > 1 ? ", " : "") + std::to_string(rank);
  if (count > kNamed) text += ", … (" + std::to_string(count) + " of them)";
  return (names_inside ? count == 1 ? "rank " : "ranks " : "all ranks but ") + text;
}

/// `bytes` must cross the cut, out of it along the links or into it.
Bound crossing(const Problem& problem, const Cut& cut, std::int64_t bytes, Sense sense) {
  const double picoseconds = static_cast<double>(bytes) / static_cast<double>(cut.bandwidth_Bps) * 1e12;
  const std::string direction = sense == Sense::along_links ? "leave " : "enter ";
  return {"cut", round_down(picoseconds * (1 - 1e-12)),
          format_bytes(bytes) + " must " + direction + list_ranks(cut, problem.rank_count()) +
              " over links of " + format_bandwidth(static_cast<double>(cut.bandwidth_Bps)) + " in all"};
}

/// In the direction of the data: the bytes of a rank that sends for one that receives. With `against_links`
/// the search's inside receives.
std::int64_t from_inside(const Problem& problem, Rank inside, Rank outside, Sense sense) {
  return sense == Sense::along_links ? problem.demand.from_to(inside, outside)
                                     : problem.demand.from_to(outside, inside);
}

Rank any_but(Rank rank) {
  return Rank{rank == 0 ? 1 : 0};
}

/// Every rank inside has its share for all others.
Bound spreading_bound(const Problem& problem, Sense sense) {
  const Cut cut = CutSearch(problem.topology, problem.bandwidth, sense).slowest_spreading();
  std::int64_t bytes = 0;
  for (Rank rank : indices<Rank>(problem.rank_count()))
    if (cut.inside[static_cast<std::size_t>(rank)]) bytes += from_inside(problem, rank, any_but(rank), sense);
  return crossing(problem, cut, bytes, sense);
}

/// The root, or in an all-reduce any rank, has all of the buffer for all others.
Bound whole_buffer_bound(const Problem& problem, Sense sense) {
  const Cut cut = CutSearch(problem.topology, problem.bandwidth, sense).weakest_around(problem.root);
  return crossing(problem, cut, from_inside(problem, problem.root, any_but(problem.root), sense), sense);
}

/// Every rank inside has something else for each rank outside.
Bound exchange_cut_bound(const Problem& problem, Sense sense) {
  CutSearch search(problem.topology, problem.bandwidth, sense);
  Bound worst{"cut", -1, ""};
  Parts parts(2);
  for (const auto find : {&CutSearch::slowest_exchange, &CutSearch::slowest_spreading}) {
    parts.next();
    const Cut cut = (search.*find)();
    std::int64_t bytes = 0;
    for (Rank inside : indices<Rank>(problem.rank_count()))
      for (Rank outside : indices<Rank>(problem.rank_count()))
        if (cut.inside[static_cast<std::size_t>(inside)] && !cut.inside[static_cast<std::size_t>(outside)])
          bytes += from_inside(problem, inside, outside, sense);
    if (Bound bound = crossing(problem, cut, bytes, sense); bound.time > worst.time) worst = std::move(bound);
  }
  return worst;
}

/// The root has a share for each rank outside.
Bound scattering_bound(const Problem& problem, Sense sense) {
  const Cut cut = CutSearch(problem.topology, problem.bandwidth, sense).slowest_scattering(problem.root);
  std::int64_t bytes = 0;
  for (Rank rank : indices<Rank>(problem.rank_count()))
    if (!cut.inside[static_cast<std::size_t>(rank)]) bytes += from_inside(problem, problem.root, rank, sense);
  return crossing(problem, cut, bytes, sense);
}

Bound worse_of_both_senses(const Problem& problem, Bound (*find)(const Problem&, Sense)) {
  Parts parts(2);
  parts.next();
  const Bound out = find(problem, Sense::along_links);
  parts.next();
  const Bound in = find(problem, Sense::against_links);
  return out.time >= in.time ? out : in;
}

}  // namespace

Bound cut_bound(const Problem& problem) {
  if (problem.rank_count() < 2) return {"cut", 0, "one rank has nobody to talk to"};
  const auto work = static_cast<std::int64_t>(problem.rank_count()) *
                    (problem.topology.vertex_count() + problem.topology.link_count());
  if (work > kMostCutWork) return {"cut", 0, "not searched for: too many ranks and links"};
  switch (problem.kind) {
    case CollectiveKind::all_gather:
      return spreading_bound(problem, Sense::along_links);
    case CollectiveKind::reduce_scatter:
      return spreading_bound(problem, Sense::against_links);
    case CollectiveKind::broadcast:
      return whole_buffer_bound(problem, Sense::along_links);
    case CollectiveKind::reduce:
      return whole_buffer_bound(problem, Sense::against_links);
    case CollectiveKind::all_reduce:
      return worse_of_both_senses(problem, whole_buffer_bound);
    case CollectiveKind::scatter:
      return scattering_bound(problem, Sense::along_links);
    case CollectiveKind::gather:
      return scattering_bound(problem, Sense::against_links);
    case CollectiveKind::all_to_all:
      return worse_of_both_senses(problem, exchange_cut_bound);
    default:
      return {"cut", 0, "no cut is searched for this collective"};
  }
}

}  // namespace hemiola::bounds
