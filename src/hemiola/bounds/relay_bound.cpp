// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "hemiola/base/progress.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/bounds/distance.hpp"
#include "hemiola/bounds/ports.hpp"
#include "hemiola/bounds/problem.hpp"

namespace hemiola::bounds {
namespace {

/// Bytes times the ranks that send them, over all pairs; from ranks beyond the budget each byte is counted once.
std::int64_t relayed_bytes(const Problem& problem) {
  std::int64_t bytes = 0;
  std::int64_t searches = problem.affordable_searches();
  const auto add = [&](Rank src, Rank dst, int senders) {
    bytes += senders * problem.demand.from_to(src, dst);
  };
  const auto add_all = [&](Rank end, Direction direction) {
    const auto senders = fewest_senders(problem.topology, end, direction);
    for (Rank other : indices<Rank>(problem.rank_count())) {
      const int count = senders[static_cast<std::size_t>(other)];
      direction == Direction::from_sources ? add(end, other, count) : add(other, end, count);
    }
  };
  if (problem.kind == CollectiveKind::gather) {
    add_all(problem.root, Direction::to_sources);
  } else if (problem.kind == CollectiveKind::scatter) {
    add_all(problem.root, Direction::from_sources);
  } else {
    Parts parts(static_cast<double>(std::min<std::int64_t>(searches, problem.rank_count())));
    for (Rank src : indices<Rank>(problem.rank_count())) {
      if (searches-- > 0) {
        parts.next();
        add_all(src, Direction::from_sources);
      } else {
        bytes += problem.demand.sent_by(src);
      }
    }
  }
  return bytes;
}

}  // namespace

Bound relay_bound(const Problem& problem) {
  const bool is_unmerged = problem.kind == CollectiveKind::all_to_all ||
                           problem.kind == CollectiveKind::gather || problem.kind == CollectiveKind::scatter;
  if (!is_unmerged) return {"relays", 0, "what ranks relay may be merged or copied on its way"};
  const Ports ports(problem);
  std::vector<Window> out;
  for (Rank rank : indices<Rank>(problem.rank_count()))
    for (Window window : ports.out_windows(rank)) {
      window.from = 0;  // a rank's links relay before it arrives
      out.push_back(window);
    }
  const std::int64_t bytes = relayed_bytes(problem);
  return {"relays", earliest_delivery(out, bytes),
          "all ranks together must send and relay " + format_bytes(bytes) + " through " + described(out)};
}

}  // namespace hemiola::bounds
