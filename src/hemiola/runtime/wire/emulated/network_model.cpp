#include "hemiola/runtime/wire/emulated/network_model.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "hemiola/base/error.hpp"
#include "hemiola/schedule/routes.hpp"
#include "hemiola/topology/slowed_links.hpp"

namespace hemiola {
namespace {

constexpr double kNanosecond = static_cast<double>(kSecond) / 1e9;
constexpr double kSame = 1 + 1e-12;  ///< shares that rounding alone has made different

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

NetworkModel::NetworkModel(const Topology& topology, const Conditions& conditions,
                           const std::vector<Rank>& ranks)
    : rank_count_(static_cast<int>(ranks.size())) {
  conditions.check(topology.rank_count());
  std::vector<RankPair> pairs;
  for (Rank src : ranks) {
    if (src < 0 || src >= topology.rank_count())
      throw ArgumentError("emulate: rank " + std::to_string(src) + " is not in topology '" + topology.name() +
                          "', which has ranks 0 … " + std::to_string(topology.rank_count() - 1));
    for (Rank dst : ranks)
      if (src != dst) pairs.push_back({src, dst});
  }
  const Routes routes(topology, pairs);
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
    others.slow.erase(ranks[number]);
  }
  const auto number_at = [&](Vertex vertex) {
    const auto found = number_of.find(vertex);
    return found == number_of.end() ? -1 : found->second;
  };
  const std::vector<double> slowdowns = link_slowdowns(topology, others);
  for (std::size_t l = 0; l < slowdowns.size(); ++l) {
    const Link& link = topology.links()[l];
    links_.push_back({link.bandwidth_Bps * 1e-9, slowdowns[l], number_at(link.src), number_at(link.dst)});
  }
}

std::vector<double> NetworkModel::capacities(std::span<const double> slowdown) const {
  const auto of = [&](int rank) { return rank < 0 ? 1.0 : slowdown[static_cast<std::size_t>(rank)]; };
  std::vector<double> capacities;
  for (const LinkModel& link : links_)
    capacities.push_back(link.bandwidth_Bpns / std::max({link.slowdown, of(link.src), of(link.dst)}));
  return capacities;
}

double NetworkModel::bandwidth_Bpns(Rank src, Rank dst) const {
  double least = std::numeric_limits<double>::infinity();
  for (int link : path(src, dst))
    least = std::min(least, links_[static_cast<std::size_t>(link)].bandwidth_Bpns);
  return least;
}

std::span<const int> NetworkModel::path(Rank src, Rank dst) const {
  const std::size_t p = pair(src, dst);
  return std::span(path_links_).subspan(path_begin_[p], path_begin_[p + 1] - path_begin_[p]);
}

std::vector<int> NetworkModel::sending_ports(Rank rank) const {
  std::vector<int> links;
  for (Rank peer : indices<Rank>(rank_count_)) links.push_back(peer == rank ? -1 : path(rank, peer).front());
  return number_ports(links);
}

std::vector<int> NetworkModel::receiving_ports(Rank rank) const {
  std::vector<int> links;
  for (Rank peer : indices<Rank>(rank_count_)) links.push_back(peer == rank ? -1 : path(peer, rank).back());
  return number_ports(links);
}

void share_fairly(std::span<const std::span<const int>> paths, const std::vector<double>& capacities,
                  std::span<double> rates) {
  std::vector<double> spare = capacities;
  std::vector<int> open(capacities.size());
  for (const auto& path : paths)
    for (int link : path) ++open[static_cast<std::size_t>(link)];
  std::fill(rates.begin(), rates.end(), -1.0);
  const auto share = [&](int link) {
    const auto l = static_cast<std::size_t>(link);
    return spare[l] / open[l];
  };
  for (std::size_t left = paths.size(); left > 0;) {
    // Flows without a rate can all have `level` at least; the link that allows least is full at that. Taking a flow
    // away at `level` leaves no link's share below it.
    double level = std::numeric_limits<double>::infinity();
    for (std::size_t l = 0; l < spare.size(); ++l)
      if (open[l] > 0) level = std::min(level, spare[l] / open[l]);
    for (std::size_t f = 0; f < paths.size(); ++f) {
      if (rates[f] >= 0) continue;
      if (std::none_of(paths[f].begin(), paths[f].end(), [&](int l) { return share(l) <= level * kSame; }))
        continue;
      rates[f] = level;
      --left;
      for (int link : paths[f]) {
        spare[static_cast<std::size_t>(link)] -= level;
        --open[static_cast<std::size_t>(link)];
      }
    }
  }
}

}  // namespace hemiola
