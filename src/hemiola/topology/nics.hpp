// SPDX-License-Identifier: Apache-2.0
// Network cards by name: a Topology's checks of one, copies of them where links or hosts get new numbers, and
// the search for people's "mlx5_1" or "3/mlx5_1".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// Rows of one name on one host joined, links ascending and once, cards by host, then by name (nic2 before nic10).
/// Throws ArgumentError, naming the card, for a name that is_nic_name refuses, an unknown host or link, or no link.
std::vector<Nic> ordered_nics(std::vector<Nic> nics, int link_count, int host_count);

/// 1 … 64 characters that command lines, files and "HOST/NAME" can hold as they are: printable ASCII without spaces,
/// quotes, brackets and any of / , = : #.
bool is_nic_name(std::string_view name);

/// The remaining cards after links (and hosts) have got new numbers, -1 for a missing one. Hosts stay where
/// `host_number` is empty.
std::vector<Nic> renumbered_nics(const std::vector<Nic>& nics, const std::vector<int>& link_number,
                                 const std::vector<int>& host_number = {});

/// The card that "NAME" or "HOST/NAME" (the host's number) means. Throws ArgumentError where there is none (it says
/// which there are, and which was meant) or where several hosts have the name (it says which).
const Nic& find_nic(const Topology& topology, std::string_view text);

}  // namespace hemiola
