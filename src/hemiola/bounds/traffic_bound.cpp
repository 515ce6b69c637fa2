// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "hemiola/base/units.hpp"
#include "hemiola/bounds/ports.hpp"
#include "hemiola/bounds/problem.hpp"

namespace hemiola::bounds {
namespace {

Bound bound_for(const char* verb, const std::vector<Window>& windows, std::int64_t bytes) {
  return {"traffic", earliest_delivery(windows, bytes),
          std::string("all ranks together must ") + verb + " " + format_bytes(bytes) + " through " +
              described(windows)};
}

}  // namespace

Bound traffic_bound(const Problem& problem) {
  const std::int64_t sent = problem.demand.sent_by_all(problem.copies_in_switch());
  const std::int64_t received = problem.demand.received_by_all(problem.adds_in_switch());
  if (std::max(sent, received) == 0) return {"traffic", 0, "no rank must send or receive anything"};
  const Ports ports(problem);
  std::vector<Window> out, in;
  for (Rank rank : indices<Rank>(problem.rank_count())) {
    const auto sends = ports.out_windows(rank), receives = ports.in_windows(rank);
    out.insert(out.end(), sends.begin(), sends.end());
    in.insert(in.end(), receives.begin(), receives.end());
  }
  Bound sending = bound_for("send", out, sent), receiving = bound_for("receive", in, received);
  return sending.time >= receiving.time ? sending : receiving;
}

}  // namespace hemiola::bounds
