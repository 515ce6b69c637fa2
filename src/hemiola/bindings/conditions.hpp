// SPDX-License-Identifier: Apache-2.0
// hemiola.Conditions is a Python dataclass; the core gets its parts.
#pragma once

#include <cstdint>
#include <map>

#include "hemiola/bindings/arrays.hpp"
#include "hemiola/topology/conditions.hpp"

namespace hemiola::bindings {

using RankSeconds = std::map<std::int64_t, double>;
using RankFactors = std::map<std::int64_t, double>;

inline Conditions conditions_of(const RankSeconds& late, const RankFactors& slow, double density = 1) {
  Conditions conditions;
  conditions.density = density;
  for (const auto& [rank, seconds] : late)
    conditions.late[to_index<Rank>(rank, "late")] = from_seconds(seconds);
  for (const auto& [rank, factor] : slow) conditions.slow[to_index<Rank>(rank, "slow")] = factor;
  return conditions;
}

}  // namespace hemiola::bindings
