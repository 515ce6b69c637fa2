// SPDX-License-Identifier: Apache-2.0
// The names of a topology's vertices: a GPU, a NIC, a switch; HOST/NAME where there are several hosts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola {

/// Names as a topology holds them: one per vertex, or none at all. Each is empty, a NAME as is_nic_name (nics.hpp) accepts, or
/// HOST/NAME with the host's number, and no two are the same. Throws ArgumentError that says which is not.
std::vector<std::string> checked_names(std::vector<std::string> names, int vertex_count);

/// The names with other numbers of hosts; a vertex of a host that has gone (-1) has none.
std::vector<std::string> names_with_hosts(std::vector<std::string> names,
                                          const std::vector<int>& host_number);

/// The names with hosts: NAME becomes HOST/NAME, and the hosts' numbers begin at `first_host`.
std::string name_on_host(const std::string& name, int first_host);

/// A vertex in words: "rank 3" or "switch 9"; with a name "rank 3 (GPU3)" or "NVSwitch".
std::string called(const Topology& topology, Vertex vertex);

/// The vertex that a number, "NAME" or "HOST/NAME" means. Throws ArgumentError where there is none (it says which was meant),
/// or where several hosts have the name.
Vertex find_vertex(const Topology& topology, std::string_view text);

}  // namespace hemiola
