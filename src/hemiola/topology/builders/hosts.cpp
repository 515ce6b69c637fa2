#include "hemiola/topology/builders/hosts.hpp"

#include <algorithm>
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
  int core_count = 0;
};

Plan plan_of(const std::vector<Host>& hosts, HostsOptions options) {
  check_range("hosts", "a number of hosts", static_cast<std::int64_t>(hosts.size()), 1,
              Topology::kMaxVertices);
  Plan plan;
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
  plan.core_count = options.rails ? most_cards : std::min(most_cards, 1);
  check_size("hosts", plan.rank_count + plan.inner_count + plan.core_count, plan.link_count);
  return plan;
}

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

std::string name_of(const std::vector<Host>& hosts) {
  const Host& first = hosts.front();
  const bool alike = std::all_of(hosts.begin(), hosts.end(),
                                 [&](const Host& h) { return h.rank_count == first.rank_count; });
  return "hosts " + std::to_string(hosts.size()) +
         (alike ? "x" + std::to_string(first.rank_count) : ", unequal");
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
  const int first_core = rank_count + static_cast<int>(plan.inner_count);
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
      const Vertex core{first_core + (options.rails ? card : 0)};
      const LinkCost cost = host.cards[static_cast<std::size_t>(card)];
      const CardUsers users = users_of(card, card_count(host), host.rank_count);
      if (users.count > 1)
        wire_shared_card(wiring, first_rank, users, cost, Vertex{next_vertex++}, core);
      else
        wiring.port(Vertex{first_rank + users.first}, core, cost);
    }
  }
  const auto switch_count = static_cast<int>(plan.inner_count) + plan.core_count;
  return Topology(name_of(hosts), rank_count, switch_count, wiring.take(), std::move(node_of_rank));
}

}  // namespace hemiola::topologies
