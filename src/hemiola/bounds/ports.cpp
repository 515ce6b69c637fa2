// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bounds/ports.hpp"

#include <algorithm>

#include "hemiola/base/error.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/bounds/distance.hpp"

namespace hemiola::bounds {

Picoseconds earliest_delivery(std::vector<Window> windows, std::int64_t bytes) {
  if (bytes <= 0) return 0;
  HEMIOLA_CHECK(!windows.empty(), "a rank that must send or receive has no link");
  const auto opens = [](const Window& w) {
    return static_cast<double>(w.from) + static_cast<double>(w.delay);
  };
  std::sort(windows.begin(), windows.end(),
            [&](const Window& a, const Window& b) { return opens(a) < opens(b); });
  // Until the next window opens, those that are open deliver at `rate` bytes per picosecond.
  double rate = 0;
  auto missing = static_cast<double>(bytes);
  for (std::size_t w = 0;; ++w) {
    rate += windows[w].bandwidth_Bps / static_cast<double>(kSecond);
    const double open = opens(windows[w]);
    const double end = open + missing / rate;
    if (w + 1 == windows.size() || end <= opens(windows[w + 1])) return round_down(end);
    missing -= rate * (opens(windows[w + 1]) - open);
  }
}

std::string described(const std::vector<Window>& windows) {
  HEMIOLA_CHECK(!windows.empty(), "a rank that must send or receive has no link");
  double sum = 0, least = windows.front().bandwidth_Bps, most = least;
  for (const Window& window : windows) {
    sum += window.bandwidth_Bps;
    least = std::min(least, window.bandwidth_Bps);
    most = std::max(most, window.bandwidth_Bps);
  }
  if (windows.size() == 1) return "a port of " + format_bandwidth(sum);
  return std::to_string(windows.size()) + " ports of " + format_bandwidth(least) +
         (least == most ? "" : " to " + format_bandwidth(most)) + ", together " + format_bandwidth(sum);
}

Ports::Ports(const Problem& problem) : problem_(problem) {
  std::vector<Vertex> ranks;
  for (Vertex v : indices<Vertex>(problem.rank_count())) ranks.push_back(v);
  to_rank_ = least_latency(problem.topology, ranks, Direction::to_sources);
  from_rank_ = least_latency(problem.topology, ranks, Direction::from_sources);
}

bool Ports::leads_to_rank(int link) const {
  return to_rank_[static_cast<std::size_t>(problem_.topology.link(link).dst)] != kUnreachable;
}

bool Ports::comes_from_rank(int link) const {
  return from_rank_[static_cast<std::size_t>(problem_.topology.link(link).src)] != kUnreachable;
}

std::vector<Window> Ports::out_windows(Rank rank) const {
  const Topology& topology = problem_.topology;
  std::vector<Window> windows;
  for (const int* l = topology.out_begin(Vertex{rank}); l != topology.out_end(Vertex{rank}); ++l)
    if (leads_to_rank(*l))
      windows.push_back(
          {problem_.bandwidth_of(*l), problem_.conditions.delay_of(rank) + topology.link(*l).message,
           sum_of(topology.link(*l).latency, to_rank_[static_cast<std::size_t>(topology.link(*l).dst)])});
  return windows;
}

std::vector<Window> Ports::in_windows(Rank rank) const {
  const Topology& topology = problem_.topology;
  std::vector<Window> windows;
  for (const int* l = topology.in_begin(Vertex{rank}); l != topology.in_end(Vertex{rank}); ++l)
    if (comes_from_rank(*l))
      windows.push_back(
          {problem_.bandwidth_of(*l), topology.link(*l).message,
           sum_of(topology.link(*l).latency, from_rank_[static_cast<std::size_t>(topology.link(*l).src)])});
  return windows;
}

Picoseconds Ports::least_message_out(Rank rank) const {
  const Topology& topology = problem_.topology;
  Picoseconds least = Topology::kMaxLatency;
  for (const int* l = topology.out_begin(Vertex{rank}); l != topology.out_end(Vertex{rank}); ++l)
    if (leads_to_rank(*l)) least = std::min(least, topology.link(*l).message);
  return least;
}

double Ports::out_bandwidth(Rank rank) const {
  double sum = 0;
  for (const Window& w : out_windows(rank)) sum += w.bandwidth_Bps;
  return sum;
}

double Ports::in_bandwidth(Rank rank) const {
  double sum = 0;
  for (const Window& w : in_windows(rank)) sum += w.bandwidth_Bps;
  return sum;
}

}  // namespace hemiola::bounds
