// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/emulated/emulated_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "hemiola/base/error.hpp"
#include "hemiola/schedule/routes.hpp"
#include "hemiola/topology/joined_ways.hpp"
#include "hemiola/topology/slowed_links.hpp"

namespace hemiola {
namespace {

constexpr double kNanosecond = static_cast<double>(kSecond) / 1e9;

/// Numbers the distinct links in the order of the peers they serve.
std::vector<int> number_ports(const std::vector<int>& link_of_peer) {
  std::map<int, int> port_of_link;
  std::vector<int> ports;
  for (int link : link_of_peer)
    ports.push_back(
        link < 0 ? 0 : port_of_link.try_emplace(link, static_cast<int>(port_of_link.size())).first->second);
  return ports;
}

}  // namespace

EmulatedNetwork::EmulatedNetwork(const Topology& whole, const Conditions& conditions,
                                 const std::vector<Rank>& ranks)
    : rank_count_(static_cast<int>(ranks.size())) {
  const JoinedWays ways(whole, kLargeMessage);  // as the simulator sees it
  const Topology& topology = ways.topology();
  conditions.check(topology.rank_count());
  std::vector<RankPair> pairs;
  for (Rank src : ranks) {
    if (src < 0 || src >= topology.rank_count())
      throw ArgumentError("emulate: rank " + std::to_string(src) + " is not in topology '" + topology.name() +
                          "', which has ranks 0 … " + std::to_string(topology.rank_count() - 1));
    for (Rank dst : ranks)
      if (src != dst) pairs.push_back({src, dst});
  }
  const Routes routes(topology, pairs, kLargeMessage);
  path_begin_.push_back(0);
  std::uint32_t next_pair = 0;
  for (Rank src : ranks)
    for (Rank dst : ranks) {
      Picoseconds latency = 0;
      if (src != dst)
        for (int link : routes.path(next_pair++)) {
          path_links_.push_back(link);
          latency += topology.link(link).latency;
        }
      latency_ns_.push_back(static_cast<double>(latency) / kNanosecond);
      path_begin_.push_back(path_links_.size());
    }
  std::map<Vertex, int> number_of;
  Conditions others = conditions;
  for (std::size_t number = 0; number < ranks.size(); ++number) {
    number_of[Vertex{static_cast<int>(ranks[number])}] = static_cast<int>(number);
    slowdown_.push_back(conditions.slowdown_of(ranks[number]));
    delay_.emplace_back(conditions.delay_of(ranks[number]) / 1000);
    others.slow.erase(ranks[number]);
  }
  const auto number_at = [&](Vertex vertex) {
    if (vertex >= topology.rank_count()) return static_cast<int>(vertex);
    const auto found = number_of.find(vertex);
    return found == number_of.end() ? -1 : found->second;
  };
  const std::vector<double> slowdowns = link_slowdowns(topology, others);
  for (std::size_t l = 0; l < slowdowns.size(); ++l) {
    const Link& link = topology.links()[l];
    links_.push_back({link.bandwidth_Bps * 1e-9, static_cast<double>(link.message) / kNanosecond,
                      slowdowns[l], number_at(link.src), number_at(link.dst)});
  }
  for (Rank src : indices<Rank>(rank_count_))
    for (Rank dst : indices<Rank>(rank_count_))
      most_payments_ = std::max<std::size_t>(
          most_payments_,
          std::ranges::count_if(path(src, dst), [&](int link) { return message_ns(link) > 0; }));
}

double EmulatedNetwork::message_ns(Rank src, Rank dst) const {
  double ns = 0;
  for (int link : path(src, dst)) ns = std::max(ns, message_ns(link));
  return ns;
}

std::vector<double> EmulatedNetwork::link_slowdown(const NetworkSlowdown& slowdown) const {
  const auto of = [&](int end) {
    return end < 0 || end >= rank_count_ ? 1.0 : slowdown.ports[static_cast<std::size_t>(end)];
  };
  std::vector<double> by_link;
  for (const LinkModel& link : links_)
    by_link.push_back(std::max({link.slowdown, of(link.src), of(link.dst)}));
  for (const auto& [ends, factor] : slowdown.links) {
    bool is_there = false;
    for (std::size_t l = 0; l < links_.size(); ++l) {
      if (std::pair(links_[l].src, links_[l].dst) != ends || ends.first < 0) continue;
      by_link[l] *= factor;
      is_there = true;
    }
    const std::string link = "link " + std::to_string(ends.first) + " to " + std::to_string(ends.second);
    if (!is_there) throw ArgumentError("slow links: the emulated network has no " + link);
    if (!(factor >= 1) || !std::isfinite(factor))
      throw ArgumentError("slow links: expected a finite factor >= 1 for " + link + ", found " +
                          std::to_string(factor));
  }
  return by_link;
}

std::vector<double> EmulatedNetwork::capacities(std::span<const double> link_slowdown) const {
  std::vector<double> capacities;
  for (std::size_t l = 0; l < links_.size(); ++l)
    capacities.push_back(links_[l].bandwidth_Bpns / link_slowdown[l]);
  return capacities;
}

double EmulatedNetwork::bandwidth_Bpns(Rank src, Rank dst) const {
  double least = std::numeric_limits<double>::infinity();
  for (int link : path(src, dst))
    least = std::min(least, links_[static_cast<std::size_t>(link)].bandwidth_Bpns);
  return least;
}

std::span<const int> EmulatedNetwork::path(Rank src, Rank dst) const {
  const std::size_t p = pair(src, dst);
  return std::span(path_links_).subspan(path_begin_[p], path_begin_[p + 1] - path_begin_[p]);
}

std::vector<int> EmulatedNetwork::sending_ports(Rank rank) const {
  std::vector<int> links;
  for (Rank peer : indices<Rank>(rank_count_)) links.push_back(peer == rank ? -1 : path(rank, peer).front());
  return number_ports(links);
}

std::vector<int> EmulatedNetwork::receiving_ports(Rank rank) const {
  std::vector<int> links;
  for (Rank peer : indices<Rank>(rank_count_)) links.push_back(peer == rank ? -1 : path(peer, rank).back());
  return number_ports(links);
}

}  // namespace hemiola
