// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/builders/hosts.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola::topologies {
namespace {

int card_count(const Host& host) {
  return static_cast<int>(host.cards.size());
}

/// Vertex numbers are handed out in the order that the header promises: ranks, inner switches and cards,
/// core.
struct Plan {
  std::int64_t rank_count = 0;
  std::int64_t inner_count = 0;
  std::int64_t link_count = 0;
  int rail_count = 0;
  int group_count = 1;

  std::int64_t network_count() const {  ///< switches between hosts: those of groups, and the core
    return std::int64_t{rail_count} * (group_count > 1 ? group_count + 1 : 1);
  }
};

void check_groups(HostsOptions options) {
  check_range("hosts", "nodes per group", options.nodes_per_group, 0, Topology::kMaxVertices);
  if (!(options.taper >= 1 && options.taper <= 1e6))
    throw ArgumentError("hosts: expected a taper between 1 and 1000000, found " +
                        std::to_string(options.taper));
  if (options.taper != 1 && options.nodes_per_group == 0)
    throw ArgumentError("hosts: a taper is that of groups' uplinks; say nodes_per_group, too");
}

Plan plan_of(const std::vector<Host>& hosts, HostsOptions options) {
  check_range("hosts", "a number of hosts", static_cast<std::int64_t>(hosts.size()), 1,
              Topology::kMaxVertices);
  check_groups(options);
  Plan plan;
  if (options.nodes_per_group > 0)
    plan.group_count = static_cast<int>(
        (static_cast<std::int64_t>(hosts.size()) + options.nodes_per_group - 1) / options.nodes_per_group);
  int most_cards = 0;
  for (const Host& host : hosts) {
    check_range("hosts", "ranks per host", host.rank_count, 1, 4096);
    check_range("hosts", "cards per host", card_count(host), 0, 4096);
    most_cards = std::max(most_cards, card_count(host));
    plan.rank_count += host.rank_count;
    plan.inner_count += needs_switch(host.inside, host.rank_count) ? 1 : 0;
    plan.link_count +=
        links_in_row(host.inside, host.rank_count) + 4 * std::max(host.rank_count, card_count(host));
    for (int card = 0; card < card_count(host); ++card)
      plan.inner_count += users_of(card, card_count(host), host.rank_count).count > 1 ? 1 : 0;
    check_size("hosts", plan.rank_count + plan.inner_count, plan.link_count);
  }
  plan.rail_count = options.rails ? most_cards : std::min(most_cards, 1);
  check_size("hosts", plan.rank_count + plan.inner_count + plan.network_count(),
             plan.link_count + 2 * plan.network_count());
  return plan;
}

/// The switches between hosts: one for each group and rail, and the core above them.
class GroupSwitches {
 public:
  GroupSwitches(const Plan& plan, HostsOptions options)
      : plan_(plan),
        options_(options),
        first_(static_cast<int>(plan.rank_count + plan.inner_count)),
        uplinks_(static_cast<std::size_t>(plan.group_count) * static_cast<std::size_t>(plan.rail_count)) {}

  /// The switch that a card of a host is on; its group's uplink then carries so much more.
  Vertex plug_in(std::size_t host, int card, LinkCost cost) {
    const std::size_t group =
        plan_.group_count == 1 ? 0 : host / static_cast<std::size_t>(options_.nodes_per_group);
    const std::size_t index = group * static_cast<std::size_t>(plan_.rail_count) +
                              static_cast<std::size_t>(options_.rails ? card : 0);
    LinkCost& uplink = uplinks_[index];
    uplink.latency = std::max(uplink.latency, cost.latency);
    uplink.bandwidth_Bps += cost.bandwidth_Bps;
    return Vertex{first_ + static_cast<int>(index)};
  }

  /// Once all cards are plugged in.
  void wire_uplinks(Wiring& wiring) const {
    if (plan_.group_count == 1) return;
    const int first_core = first_ + static_cast<int>(uplinks_.size());
    for (std::size_t i = 0; i < uplinks_.size(); ++i) {
      LinkCost uplink = uplinks_[i];
      uplink.bandwidth_Bps /= options_.taper;
      const int rail = static_cast<int>(i % static_cast<std::size_t>(plan_.rail_count));
      if (uplink.bandwidth_Bps > 0)
        wiring.port(Vertex{first_ + static_cast<int>(i)}, Vertex{first_core + rail}, uplink);
    }
  }

 private:
  Plan plan_;
  HostsOptions options_;
  int first_;
  std::vector<LinkCost> uplinks_;  ///< group by group, rail by rail
};

/// A shared card is a stop half-way between rank and core. It lies at some distance from its ranks, so that a
/// path from one of them to another prefers the host's own links to a loop through the card.
void wire_shared_card(Wiring& wiring, int first_rank, CardUsers users, LinkCost cost, Vertex card,
                      Vertex core) {
  const LinkCost up = half_way(cost), down = other_half(cost);
  for (int i = 0; i < users.count; ++i) {
    const Vertex rank{first_rank + users.first + i};
    wiring.one_way(rank, card, half_way(up));
    wiring.one_way(card, rank, other_half(down));
  }
  wiring.one_way(card, core, other_half(up));
  wiring.one_way(core, card, half_way(down));
}

std::string name_of(const std::vector<Host>& hosts, HostsOptions options) {
  const Host& first = hosts.front();
  const bool alike = std::all_of(hosts.begin(), hosts.end(),
                                 [&](const Host& h) { return h.rank_count == first.rank_count; });
  std::ostringstream name;
  name << "hosts " << hosts.size() << (alike ? "x" + std::to_string(first.rank_count) : ", unequal");
  if (options.nodes_per_group > 0)
    name << " in groups of " << options.nodes_per_group << ", taper " << options.taper;
  return name.str();
}

}  // namespace

CardUsers users_of(int card, int card_count, int rank_count) {
  const auto first_user = [&](std::int64_t c) {  // the first rank r with r * card_count / rank_count == c
    return static_cast<int>((c * rank_count + card_count - 1) / card_count);
  };
  if (card_count > rank_count) return {static_cast<int>(std::int64_t{card} * rank_count / card_count), 1};
  return {first_user(card), first_user(card + 1) - first_user(card)};
}

Topology equal_hosts(int host_count, const Host& host, HostsOptions options) {
  check_range("hosts", "a number of hosts", host_count, 1, Topology::kMaxVertices);
  const auto each = static_cast<std::int64_t>(host.rank_count + host.cards.size());
  check_size("hosts", host_count * each, host_count * each);  // before a host is copied
  return hosts(std::vector<Host>(static_cast<std::size_t>(host_count), host), options);
}

Topology hosts(const std::vector<Host>& hosts, HostsOptions options) {
  const Plan plan = plan_of(hosts, options);
  const auto rank_count = static_cast<int>(plan.rank_count);
  GroupSwitches switches(plan, options);
  Wiring wiring;
  std::vector<int> node_of_rank;
  int next_vertex = rank_count;
  for (std::size_t node = 0; node < hosts.size(); ++node) {
    const Host& host = hosts[node];
    const int first_rank = static_cast<int>(node_of_rank.size());
    node_of_rank.insert(node_of_rank.end(), static_cast<std::size_t>(host.rank_count),
                        static_cast<int>(node));
    const Row row{first_rank, 1, host.rank_count};
    wire_row(wiring, row, host.inside, host.local, Vertex{next_vertex});
    if (needs_switch(host.inside, host.rank_count)) ++next_vertex;
    for (int card = 0; card < card_count(host); ++card) {
      const LinkCost cost = host.cards[static_cast<std::size_t>(card)];
      const Vertex core = switches.plug_in(node, card, cost);
      const CardUsers users = users_of(card, card_count(host), host.rank_count);
      const int first_link = wiring.link_count();
      if (users.count > 1)
        wire_shared_card(wiring, first_rank, users, cost, Vertex{next_vertex++}, core);
      else
        wiring.port(Vertex{first_rank + users.first}, core, cost);
      wiring.name_nic("nic" + std::to_string(card), static_cast<int>(node), first_link);
    }
  }
  switches.wire_uplinks(wiring);
  const auto switch_count = static_cast<int>(plan.inner_count + plan.network_count());
  std::vector<Nic> nics = wiring.take_nics();
  return Topology(name_of(hosts, options), rank_count, switch_count, wiring.take(), std::move(node_of_rank),
                  std::move(nics));
}

}  // namespace hemiola::topologies
