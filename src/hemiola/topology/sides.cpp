// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/sides.hpp"

namespace hemiola {

std::string list_ranks(const std::vector<bool>& member, bool value) {
  constexpr int kNamed = 6;
  std::string text;
  int count = 0;
  for (std::size_t r = 0; r < member.size(); ++r)
    if (member[r] == value && ++count <= kNamed) text += (count > 1 ? ", " : "") + std::to_string(r);
  if (count > kNamed) text += ", … (" + std::to_string(count) + " of them)";
  return (count == 1 ? "rank " : "ranks ") + text;
}

std::string missing_link(const std::vector<bool>& reached, bool towards) {
  return "no link leads from " + list_ranks(reached, !towards) + " to " + list_ranks(reached, towards) +
         ". Add a link, or leave one side out.";
}

std::string described(const Topology& topology) {
  return topology.name().empty() ? "the topology" : "topology '" + topology.name() + "'";
}

}  // namespace hemiola
