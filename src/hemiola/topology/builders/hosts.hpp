// SPDX-License-Identifier: Apache-2.0
// Hosts with several ranks and network cards: fast links inside a host, one port per card on the network that
// joins the hosts. A card shared by ranks is a vertex of its own (rank -> card -> core), so that the card
// limits their sends together; a card that only one rank uses is that rank's port.
#pragma once

#include <vector>

#include "hemiola/topology/builders/row.hpp"

namespace hemiola::topologies {

struct Host {
  int rank_count = 1;
  Wires inside = Wires::switched;  ///< how the ranks of the host are joined
  LinkCost local;                  ///< rank to rank inside the host
  std::vector<LinkCost> cards;     ///< card to card across the core
};

struct HostsOptions {
  bool rails = false;  ///< card i of every host is on switch i; otherwise all cards are on one switch
  int nodes_per_group =
      0;  ///< consecutive hosts that have switches of their own below the core; 0: all are one group
  double taper = 1;  ///< >= 1: a group's uplink carries what its cards together do, divided by this
};

/// Switch vertices: host by host its inner switch and its shared cards, then the groups' switches (rail by rail), then the
/// core, which a single group has not. From card to card through a group's switch takes the card's latency, from group to
/// group as much again; a message costs uplinks nothing. Ranks are numbered host by host. Cards are called nic0, nic1, … on every host.
Topology hosts(const std::vector<Host>& hosts, HostsOptions options = {});

Topology equal_hosts(int host_count, const Host& host, HostsOptions options = {});

/// The ranks of a host, consecutive, that use one of its cards.
struct CardUsers {
  int first;
  int count;
};

/// Rank r of a host uses card r * card_count / rank_count; where cards outnumber ranks, each card has one user
/// and each rank several cards. Both differ by at most one over a host.
CardUsers users_of(int card, int card_count, int rank_count);

}  // namespace hemiola::topologies
