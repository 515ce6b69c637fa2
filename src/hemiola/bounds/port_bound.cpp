// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/units.hpp"
#include "hemiola/bounds/ports.hpp"
#include "hemiola/bounds/problem.hpp"
#include "hemiola/topology/vertex_names.hpp"

namespace hemiola::bounds {
namespace {

std::string sending_witness(const Problem& problem, Rank rank, std::int64_t bytes,
                            const std::vector<Window>& windows) {
  std::string text = called(problem.topology, Vertex{rank}) + " must send " + format_bytes(bytes) +
                     " through " + described(windows);
  if (const Picoseconds delay = problem.conditions.delay_of(rank); delay > 0)
    text += ", after it arrives at " + format_seconds(to_seconds(delay));
  return text;
}

std::string receiving_witness(const Problem& problem, Rank rank, std::int64_t bytes,
                              const std::vector<Window>& windows) {
  return called(problem.topology, Vertex{rank}) + " must receive " + format_bytes(bytes) + " through " +
         described(windows);
}

}  // namespace

Bound port_bound(const Problem& problem) {
  Bound best{"ports", 0, "no rank must send or receive anything"};
  const Ports ports(problem);
  for (Rank rank : indices<Rank>(problem.rank_count())) {
    const std::int64_t out = problem.demand.sent_by(rank), in = problem.demand.received_by(rank);
    if (const auto time = earliest_delivery(ports.out_windows(rank), out); time > best.time)
      best = {"ports", time, sending_witness(problem, rank, out, ports.out_windows(rank))};
    if (const auto time = earliest_delivery(ports.in_windows(rank), in); time > best.time)
      best = {"ports", time, receiving_witness(problem, rank, in, ports.in_windows(rank))};
  }
  return best;
}

}  // namespace hemiola::bounds
