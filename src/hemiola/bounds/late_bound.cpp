// SPDX-License-Identifier: Apache-2.0
// The transfers that remain once ranks have come late: data that depends on them can leave them only then.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/units.hpp"
#include "hemiola/bounds/bottleneck_cut.hpp"
#include "hemiola/bounds/ports.hpp"
#include "hemiola/bounds/problem.hpp"
#include "hemiola/topology/vertex_names.hpp"

namespace hemiola::bounds {
namespace {

/// Ranks times vertices and links that the searches of cuts may look at, and arrivals that are counted together.
constexpr std::int64_t kMostLateWork = 50'000'000;
constexpr std::size_t kMostArrivals = 32;

struct Arrival {
  Picoseconds delay;
  Rank rank;
};

/// The last to come first.
std::vector<Arrival> arrivals(const Problem& problem) {
  std::vector<Arrival> found;
  for (const auto& [rank, delay] : problem.conditions.late)
    if (delay > 0) found.push_back({delay, rank});
  std::sort(found.begin(), found.end(), [](const Arrival& a, const Arrival& b) {
    return a.delay != b.delay ? a.delay > b.delay : a.rank < b.rank;
  });
  return found;
}

/// A late rank's data for others must cross every cut around it after the rank has come. Exact, but for
/// latencies and the links' other traffic then, for a broadcast from it.
Bound cut_around(const Problem& problem, CutSearch* search, const Arrival& late) {
  const auto needed_by = [&](Rank rank) { return problem.demand.from_to(late.rank, rank); };
  const bool is_one_for_all = problem.kind == CollectiveKind::all_reduce ||
                              problem.kind == CollectiveKind::all_gather ||
                              problem.kind == CollectiveKind::broadcast;
  const Cut cut = is_one_for_all ? search->weakest_around(late.rank) : search->slowest_scattering(late.rank);
  std::int64_t bytes = 0;
  for (Rank rank : indices<Rank>(problem.rank_count())) {
    if (cut.inside[static_cast<std::size_t>(rank)]) continue;
    bytes = is_one_for_all ? std::max(bytes, needed_by(rank)) : bytes + needed_by(rank);
  }
  const double picoseconds =
      static_cast<double>(bytes) / static_cast<double>(cut.bandwidth_Bps) * static_cast<double>(kSecond);
  return {"late", round_down(static_cast<double>(late.delay) + picoseconds * (1 - 1e-12)),
          format_bytes(bytes) + " of " + called(problem.topology, Vertex{late.rank}) + ", which arrives at " +
              format_seconds(to_seconds(late.delay)) + ", must leave " +
              (cut.ranks_inside == 1 ? "it" : "a set of " + std::to_string(cut.ranks_inside) + " ranks") +
              " over links of " + format_bandwidth(static_cast<double>(cut.bandwidth_Bps)) + " in all"};
}

Bound cuts_around(const Problem& problem, const std::vector<Arrival>& late) {
  Bound best{"late", 0, "nobody needs what a late rank has"};
  std::int64_t left = kMostLateWork / (static_cast<std::int64_t>(problem.rank_count()) *
                                       (problem.topology.vertex_count() + problem.topology.link_count()));
  if (left == 0) return {"late", 0, "not searched for: too many ranks and links"};
  CutSearch search(problem.topology, problem.bandwidth, Sense::along_links);
  for (const Arrival& arrival : late)
    if (problem.demand.sent_by(arrival.rank) > 0 && left-- > 0)
      best = larger(std::move(best), cut_around(problem, &search, arrival));
  return best;
}

/// An all-reduce for which `count` ranks come at `begin` or later. Of every byte, let v be the first rank that holds the
/// result. Each of those ranks but v sends a partial sum with its own part, and every rank but v receives the result:
/// all of it after `begin`, n-1+count sends, one less where v is itself late. Then, where others were in
/// time, their data enters the late ranks: before `begin`, which their ports limit, or as one more receipt.
class LateTogether {
 public:
  LateTogether(const Problem& problem, const Ports& ports, const std::vector<Arrival>& late,
               std::size_t count)
      : problem_(problem), ports_(ports), late_(late), count_(count), begin_(late[count - 1].delay) {}

  Bound sending() const {
    std::vector<Window> windows;
    for (Rank rank : indices<Rank>(problem_.rank_count()))
      for (Window window : ports_.out_windows(rank)) {
        window.from += std::max<Picoseconds>(0, begin_ - problem_.conditions.delay_of(rank));
        windows.push_back(window);
      }
    return bound_of("send", windows, least_sends() * problem_.bytes);
  }

  /// Entering data may have left before, so that latencies do not count.
  Bound receiving() const {
    std::vector<Window> windows;
    for (Rank rank : indices<Rank>(problem_.rank_count()))
      for (const Window& window : ports_.in_windows(rank))
        windows.push_back({window.bandwidth_Bps, begin_, 0});
    double before = 0;
    for (std::size_t i = 0; i < count_; ++i) before += ports_.in_bandwidth(late_[i].rank);
    before *= to_seconds(begin_);
    const auto room = static_cast<double>(problem_.bytes) - before * (1 + 1e-12);
    const bool all_late = count_ == static_cast<std::size_t>(problem_.rank_count());
    const std::int64_t more = all_late ? 0 : static_cast<std::int64_t>(std::max(0.0, room));
    return bound_of("receive", windows, least_sends() * problem_.bytes + more);
  }

 private:
  std::int64_t least_sends() const { return problem_.rank_count() - 2 + static_cast<std::int64_t>(count_); }

  Bound bound_of(const char* verb, const std::vector<Window>& windows, std::int64_t bytes) const {
    return {"late", earliest_delivery(windows, bytes),
            std::string("all ranks together must ") + verb + " " + format_bytes(bytes) + " after " +
                std::to_string(count_) + (count_ == 1 ? " of them has" : " of them have") + " arrived at " +
                format_seconds(to_seconds(begin_)) + ", through " + described(windows)};
  }

  const Problem& problem_;
  const Ports& ports_;
  const std::vector<Arrival>& late_;
  std::size_t count_;
  Picoseconds begin_;
};

Bound late_together(const Problem& problem, const std::vector<Arrival>& late) {
  Bound best{"late", 0, ""};
  const Ports ports(problem);
  std::size_t left = kMostArrivals;
  for (std::size_t count = 1; count <= late.size() && left > 0; ++count) {
    if (count < late.size() && late[count].delay == late[count - 1].delay) continue;
    --left;
    const LateTogether ranks(problem, ports, late, count);
    best = larger(std::move(best), larger(ranks.sending(), ranks.receiving()));
  }
  return best;
}

}  // namespace

Bound late_bound(const Problem& problem) {
  const auto late = arrivals(problem);
  if (late.empty() || problem.rank_count() < 2) return {"late", 0, "no rank is late"};
  const bool is_for_one = problem.kind == CollectiveKind::reduce || problem.kind == CollectiveKind::gather;
  if (is_for_one) return {"late", 0, "only the root needs what a late rank has"};
  Bound best = cuts_around(problem, late);
  // Where switches add or copy, fewer buffers are sent.
  const bool ranks_do_all = !problem.adds_in_switch() && !problem.copies_in_switch();
  if (problem.kind == CollectiveKind::all_reduce && ranks_do_all)
    best = larger(std::move(best), late_together(problem, late));
  return best;
}

}  // namespace hemiola::bounds
