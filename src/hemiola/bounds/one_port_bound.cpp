// SPDX-License-Identifier: Apache-2.0
// An all-reduce where a port carries one message at a time, at the pace of the slower of its two ends:
// messages to or from a slow rank hold a healthy rank's port for longer, too.
//
// Of each byte, p - 1 transfers that merge partial sums and p - 1 that spread the result make two trees over all
// ranks; keep only those. Let X be the sends and receives of a slow rank of factor l, S of it to and from
// slow ranks. The time of all healthy ports, to which each byte between healthy ranks comes twice and one of
// X - S once, l times as long, gives
//
//   2 · 2(p-1)N  <=  2(p-m) b T  +  Σ (2 - l)(X - S) + S,    2N <= X <= 2bT/l,    Σ S <= 4(m-1)N,
//
// the last because trees have at most m - 1 edges among m ranks. A slow rank may be counted as healthy: the
// bound holds for the slowest j of them, for any j, and a few that are hardly slow do not weaken it. For m =
// 1 this is OptCC's Theorem 6, and over hosts, whose ranks talk to each other inside, its Theorem 13. That
// slow ranks may be several, and the bound on all traffic, of which links inside hosts carry a part, are
// ours. So is the bound by prices of ports (port_prices.hpp), which is exact for ranks, but no formula.
#include <algorithm>
#include <cmath>
#include <functional>

#include "hemiola/base/units.hpp"
#include "hemiola/bounds/hosts.hpp"
#include "hemiola/bounds/port_prices.hpp"
#include "hemiola/bounds/problem.hpp"

namespace hemiola::bounds {
namespace {

/// Bytes and bytes per second.
struct PortExchange {
  std::vector<double> rate;  ///< of each participant's ports in one direction
  double buffer;
  double transferred;      ///< at least, by all participants together
  double inside_rate = 0;  ///< of links that are no ports
  int ports_per_participant = 1;

  /// The most edges that a tree over all ports has between different ones of `slow` participants.
  double edges_among(std::size_t slow) const {
    return slow < 2 ? 0.0 : static_cast<double>(slow) * ports_per_participant - 1;
  }
  double fastest() const { return *std::max_element(rate.begin(), rate.end()); }
  bool is_slow(double r) const { return r < fastest() * (1 - 1e-12); }
  std::vector<double> slow_factors() const {
    std::vector<double> factors;
    for (const double r : rate)
      if (is_slow(r)) factors.push_back(fastest() / r);
    std::sort(factors.begin(), factors.end(), std::greater<>());
    return factors;
  }
};

/// The most that can be transferred within `seconds`: the right side above, halved.
double most_transferred(const PortExchange& exchange, const std::vector<double>& slow_factors,
                        double seconds) {
  const double port = 2 * exchange.fastest() * seconds;
  const auto healthy = static_cast<double>(exchange.rate.size() - slow_factors.size());
  double sum = healthy * port;
  double among_slow = 4 * exchange.edges_among(slow_factors.size()) * exchange.buffer;
  for (const double l : slow_factors) {  // the slowest gain most from partners that are slow as well
    const double with_slow = std::min(among_slow, port / l);
    among_slow -= with_slow;
    const double with_healthy = l < 2 ? port / l - with_slow : std::max(0.0, 2 * exchange.buffer - with_slow);
    sum += with_slow + (2 - l) * with_healthy;
  }
  return exchange.inside_rate * seconds + sum / 2;
}

struct Found {
  double seconds;
  std::size_t slow_count;  ///< participants counted as slow; 0 where the slowest port decides
};

/// The time in which all can be transferred, counting those factors as slow; at least `low`.
double least_seconds(const PortExchange& exchange, const std::vector<double>& slow, double low) {
  if (most_transferred(exchange, slow, low) >= exchange.transferred) return low;
  double high = 2 * low;
  while (most_transferred(exchange, slow, high) < exchange.transferred) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (most_transferred(exchange, slow, middle) < exchange.transferred ? low : high) = middle;
  }
  return low;
}

Found least_seconds(const PortExchange& exchange) {
  constexpr std::size_t kMostCounts = 64;  // of slow ones that are tried: it is as many searches
  const auto slow = exchange.slow_factors();
  // The slowest participant must send and receive the buffer.
  Found found{exchange.buffer / *std::min_element(exchange.rate.begin(), exchange.rate.end()), 0};
  const std::size_t stride = std::max<std::size_t>(1, slow.size() / kMostCounts);
  for (std::size_t left_out = 0; left_out < slow.size(); left_out += stride) {
    const std::vector<double> counted(slow.begin(), slow.end() - static_cast<std::ptrdiff_t>(left_out));
    const double seconds = least_seconds(exchange, counted, found.seconds);
    if (seconds > found.seconds) found = {seconds, counted.size()};
  }
  if (slow.empty()) found.seconds = least_seconds(exchange, slow, found.seconds);
  return found;
}

Bound bound_of(const PortExchange& exchange, const std::string& participants, const std::string& theorem) {
  const Found found = least_seconds(exchange);
  const bool is_slowest_port = found.slow_count == 0 && !exchange.slow_factors().empty();
  const std::string what = is_slowest_port
                               ? "the slowest of the " + participants + " must send and receive the buffer"
                               : "messages of slow " + participants +
                                     " hold the ports of healthy ones, and all must send " +
                                     format_bytes(static_cast<std::int64_t>(exchange.transferred));
  const std::string after = found.slow_count > 1 && theorem.starts_with("OptCC") ? "after " : "";
  return {"one_port", round_down(found.seconds * static_cast<double>(kSecond) * (1 - 1e-12)),
          what + ", one message at a time [" + after + theorem + "]"};
}

/// A time that no trees beat. Where it is a theorem's, that has its name.
Bound bound_by_trees(const PortExchange& exchange, const std::string& participants) {
  const double seconds = exchange.buffer * least_seconds_by_prices(exchange.rate);
  return {"one_port", round_down(seconds * static_cast<double>(kSecond) * (1 - 1e-9)),
          "each byte must go twice along the cheapest tree that joins all " + participants +
              " by some prices of their ports, which takes " + format_seconds(seconds) +
              " of all ports together, one message at a time"};
}

std::vector<double> faster_direction(const Hosts& hosts) {
  std::vector<double> rate;
  for (std::size_t h = 0; h < hosts.out_Bps.size(); ++h)
    rate.push_back(std::max(hosts.out_Bps[h], hosts.in_Bps[h]));
  return rate;
}

}  // namespace

Bound one_port_bound(const Problem& problem) {
  if (problem.kind != CollectiveKind::all_reduce || problem.rank_count() < 2)
    return {"one_port", 0, "only for an all-reduce of several ranks"};
  const auto buffer = static_cast<double>(problem.bytes);
  if (const Hosts ranks(problem, true); ranks.has_a_nic_per_rank) {
    const PortExchange exchange{faster_direction(ranks), buffer, 2.0 * (ranks.count - 1) * buffer};
    return larger(bound_of(exchange, "ranks", "OptCC, Theorem 6"), bound_by_trees(exchange, "ranks"));
  }
  const Hosts hosts(problem, false);
  if (!hosts.has_a_nic_per_rank || hosts.count < 2)
    return {"one_port", 0, "ranks have several ports, or hosts are not alike"};
  const PortExchange nics{faster_direction(hosts), buffer, 2.0 * (hosts.count - 1) * buffer};
  const PortExchange all{faster_direction(hosts), buffer, 2.0 * (problem.rank_count() - 1) * buffer,
                         hosts.inside_Bps, hosts.ranks_per_host};
  return larger(larger(bound_of(nics, "hosts", "OptCC, Theorem 13"), bound_by_trees(nics, "hosts")),
                bound_of(all, "hosts", "all traffic, which corrects OptCC, Theorem 13"));
}

}  // namespace hemiola::bounds
