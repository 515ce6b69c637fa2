// SPDX-License-Identifier: Apache-2.0
// The abilities of a topology's switches as Python speaks of them: the vertices that have each.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::bindings {

inline constexpr bool SwitchAbility::* kReduces = &SwitchAbility::reduces;
inline constexpr bool SwitchAbility::* kMulticasts = &SwitchAbility::multicasts;

/// The vertices that have this ability.
inline std::vector<int> able_switches(const Topology& t, bool SwitchAbility::* ability) {
  std::vector<int> able;
  for (Vertex v{t.rank_count()}; v < t.vertex_count(); ++v)
    if (t.ability_of(v).*ability) able.push_back(v);
  return able;
}

/// Gives these vertices the ability, and takes it from all others.
inline void set_able(std::vector<SwitchAbility>* switches, const std::vector<int>& vertices, int rank_count,
                     int switch_count, bool SwitchAbility::* ability, const char* name) {
  switches->resize(static_cast<std::size_t>(std::max(0, switch_count)));
  for (SwitchAbility& one : *switches) one.*ability = false;
  for (const int vertex : vertices) {
    if (vertex < rank_count || vertex - rank_count >= switch_count)
      throw ArgumentError(std::string("topology: expected switches in ") + name +
                          (switch_count > 0 ? ", vertices " + std::to_string(rank_count) + " … " +
                                                  std::to_string(rank_count + switch_count - 1)
                                            : std::string(", of which there are none")) +
                          ", found vertex " + std::to_string(vertex));
    (*switches)[static_cast<std::size_t>(vertex - rank_count)].*ability = true;
  }
}

}  // namespace hemiola::bindings
