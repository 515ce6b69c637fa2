// SPDX-License-Identifier: Apache-2.0
// Which of this machine's addresses other hosts may be told.
#pragma once

#include <string>
#include <vector>

#include "hemiola/runtime/net/nic_addresses.hpp"

namespace hemiola::c {

/// An address of an interface that is up.
struct LocalAddress {
  std::string interface;
  Endpoint address;  ///< without a port
  bool is_link_local = false;
  bool is_private_to_host = false;  ///< loopback, or behind it are this machine's containers
};

std::vector<LocalAddress> local_addresses();

/// Those that a rule permits, as HEMIOLA_INTERFACE writes it: "eth,ib" by the beginnings of names, "=eth0" exactly,
/// "10.1.0.0/16" by network, "^docker,lo" all but these; empty: all that others can reach. `family`: 4, 6, or 0 for both.
/// Throws ArgumentError for another text, and where none is left, with all that there are.
std::vector<LocalAddress> reachable(const std::vector<LocalAddress>& present, const std::string& rule,
                                    int family);

/// By interface, for wires that use several side by side; empty unless the rule names interfaces.
std::vector<NicAddresses> side_by_side(const std::vector<LocalAddress>& reached, const std::string& rule);

}  // namespace hemiola::c
