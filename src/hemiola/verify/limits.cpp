// SPDX-License-Identifier: Apache-2.0
#include "hemiola/verify/limits.hpp"

#include <string>
#include <vector>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

/// Ranks that `src` reaches over one link or through switches only, as flags by rank.
std::vector<bool> neighbours(const Topology& topology, Vertex src) {
  std::vector<bool> seen(static_cast<std::size_t>(topology.vertex_count()));
  std::vector<Vertex> open{src};
  while (!open.empty()) {
    const Vertex at = open.back();
    open.pop_back();
    for (const int* link = topology.out_begin(at); link != topology.out_end(at); ++link) {
      const Vertex to = topology.link(*link).dst;
      if (seen[static_cast<std::size_t>(to)]) continue;
      seen[static_cast<std::size_t>(to)] = true;
      if (!topology.is_rank(to)) open.push_back(to);
    }
  }
  return seen;
}

/// For each pair, whether the topology joins it.
std::vector<bool> joined_pairs(const Topology& topology, std::span<const RankPair> pairs) {
  std::vector<bool> joined(pairs.size());
  std::vector<std::vector<std::size_t>> by_src(static_cast<std::size_t>(topology.rank_count()));
  for (std::size_t i = 0; i < pairs.size(); ++i) by_src[static_cast<std::size_t>(pairs[i].src)].push_back(i);
  for (Rank src : indices<Rank>(topology.rank_count())) {
    if (by_src[static_cast<std::size_t>(src)].empty()) continue;
    const std::vector<bool> reached = neighbours(topology, Vertex{src});
    for (std::size_t i : by_src[static_cast<std::size_t>(src)])
      joined[i] = reached[static_cast<std::size_t>(pairs[i].dst)];
  }
  return joined;
}

/// Counts per index that start again at zero in every step.
class StepCounter {
 public:
  explicit StepCounter(std::size_t size) : step_(size, -1), count_(size) {}
  int add(std::size_t index, Step step) {
    if (step_[index] != step) count_[index] = 0;
    step_[index] = step;
    return ++count_[index];
  }

 private:
  std::vector<std::int32_t> step_;
  std::vector<int> count_;
};

class LimitCheck {
 public:
  LimitCheck(const TransferSource& source, const Limits& limits, Report* report)
      : limits_(limits),
        report_(*report),
        link_of_pair_(first_of_same_ranks(source.pairs())),
        on_link_(limits.link_capacity ? source.pairs().size() : 0),
        out_(limits.port_capacity ? static_cast<std::size_t>(source.collective().rank_count()) : 0),
        in_(out_) {
    if (limits.topology) joined_ = joined_pairs(*limits.topology, source.pairs());
  }

  void check(std::uint32_t pair, const Transfer& t) {
    if (t.src == t.dst) return;  // moves within a rank pass no link
    const std::uint32_t link = link_of_pair_[pair];
    if (limits_.topology && !joined_[link])
      say(Rule::no_link, t, t.src,
          "no link joins them in the topology; relay the chunk through ranks that are joined");
    if (limits_.link_capacity && on_link_.add(link, t.step) == *limits_.link_capacity + 1)
      say(Rule::over_capacity, t, t.src,
          "the link carries more than " + std::to_string(*limits_.link_capacity) + " chunks in this step");
    if (!limits_.port_capacity) return;
    if (out_.add(static_cast<std::size_t>(t.src), t.step) == *limits_.port_capacity + 1)
      say_port(t, t.src, " sends more than ");
    if (in_.add(static_cast<std::size_t>(t.dst), t.step) == *limits_.port_capacity + 1)
      say_port(t, t.dst, " receives more than ");
  }

 private:
  void say_port(const Transfer& t, Rank rank, const char* does) {
    say(Rule::over_capacity, t, rank,
        "rank " + std::to_string(rank) + does + std::to_string(*limits_.port_capacity) +
            " chunks in this step");
  }

  void say(Rule rule, const Transfer& t, Rank rank, const std::string& why) {
    if (report_.admits(rule, t.step, rank, t.chunk))
      report_.add({rule, t.step, rank, t.chunk,
                   "step " + std::to_string(t.step) + ": rank " + std::to_string(t.src) + " sends chunk " +
                       std::to_string(t.chunk) + " to rank " + std::to_string(t.dst) + ", but " + why});
  }

  const Limits& limits_;
  Report& report_;
  std::vector<std::uint32_t> link_of_pair_;
  std::vector<bool> joined_;
  StepCounter on_link_, out_, in_;
};

void check_arguments(const TransferSource& source, const Limits& limits) {
  for (const auto& capacity : {limits.link_capacity, limits.port_capacity})
    if (capacity && *capacity < 1)
      throw ArgumentError("verify: expected a capacity >= 1, found " + std::to_string(*capacity));
  if (limits.topology && limits.topology->rank_count() != source.collective().rank_count())
    throw ArgumentError("verify: the schedule has " + std::to_string(source.collective().rank_count()) +
                        " ranks, the topology " + std::to_string(limits.topology->rank_count()));
}

}  // namespace

void check_limits(const TransferSource& source, const Limits& limits, Report* report) {
  check_arguments(source, limits);
  if (!limits.topology && !limits.link_capacity && !limits.port_capacity) return;
  LimitCheck check(source, limits, report);
  const std::span<const RankPair> pairs = source.pairs();
  source.visit_blocks([&](const TransferBlock& block) {
    for (std::size_t i = 0; i < block.link.size(); ++i) {
      const RankPair pair = pairs[block.link[i]];
      check.check(block.link[i], {block.step, pair.src, pair.dst, Chunk{block.chunk[i]}, block.reduces(i)});
    }
  });
}

}  // namespace hemiola
