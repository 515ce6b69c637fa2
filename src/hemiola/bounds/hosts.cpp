#include "hemiola/bounds/hosts.hpp"

#include <algorithm>

#include "hemiola/topology/host_links.hpp"

namespace hemiola::bounds {
namespace {

/// The NICs of one rank in one direction.
struct Nics {
  int count = 0;
  double bandwidth_Bps = 0;
  void add(double bandwidth) {
    ++count;
    bandwidth_Bps += bandwidth;
  }
};

}  // namespace

Hosts::Hosts(const Problem& problem, bool each_rank) {
  const Topology& topology = problem.topology;
  const int ranks = topology.rank_count();
  const auto host_of = [&](Rank rank) {
    return static_cast<std::size_t>(each_rank ? static_cast<int>(rank) : topology.node_of(rank));
  };
  count = each_rank ? ranks : topology.node_count();
  const auto between =
      each_rank ? std::vector<bool>(topology.links().size(), true) : links_between_hosts(topology);
  std::vector<Nics> out(static_cast<std::size_t>(ranks)), in(out);
  for (int l = 0; l < topology.link_count(); ++l) {
    const Link& link = topology.link(l);
    if (between[static_cast<std::size_t>(l)]) {
      if (topology.is_rank(link.src)) out[static_cast<std::size_t>(link.src)].add(problem.bandwidth_of(l));
      if (topology.is_rank(link.dst)) in[static_cast<std::size_t>(link.dst)].add(problem.bandwidth_of(l));
    } else if (topology.is_rank(link.src)) {
      inside_Bps += problem.bandwidth_of(l);
    }
  }
  ranks_per_host = ranks / count;
  has_a_nic_per_rank = ranks % count == 0;
  out_Bps.resize(static_cast<std::size_t>(count));
  in_Bps.resize(out_Bps.size());
  std::vector<int> size(out_Bps.size());
  std::vector<Nics> first(out_Bps.size());
  for (Rank rank : indices<Rank>(ranks)) {
    const std::size_t host = host_of(rank);
    const Nics& sends = out[static_cast<std::size_t>(rank)];
    const Nics& receives = in[static_cast<std::size_t>(rank)];
    if (size[host]++ == 0) first[host] = sends;
    has_a_nic_per_rank = has_a_nic_per_rank && sends.count == 1 && receives.count == 1 &&
                         sends.bandwidth_Bps == first[host].bandwidth_Bps &&
                         receives.bandwidth_Bps == sends.bandwidth_Bps;
    out_Bps[host] += sends.bandwidth_Bps;
    in_Bps[host] += receives.bandwidth_Bps;
  }
  has_a_nic_per_rank = has_a_nic_per_rank && *std::max_element(size.begin(), size.end()) == ranks_per_host;
}

}  // namespace hemiola::bounds
