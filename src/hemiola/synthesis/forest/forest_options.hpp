// SPDX-License-Identifier: Apache-2.0
// The common options of all kinds of forests.
#pragma once

#include <cstdint>

#include "hemiola/schedule/collective.hpp"

namespace hemiola::synthesis {

/// That a root may have, or that are tried where the caller does not say.
inline constexpr int kMostTrees = 64;

struct ForestOptions {
  CollectiveKind kind = CollectiveKind::all_gather;
  /// From every rank, or in all where they have one root or pieces go up and down the same tree; 0: the fewest that come near the exact
  /// optimum, or nearest to it.
  int trees = 0;
  int pieces = 8;  ///< chunks down each tree from a rank, one behind the other
  std::int64_t buffer_bytes = 0;
  Rank root{0};                   ///< of a broadcast or a reduce
  bool up_and_down_only = false;  ///< an all-reduce tries nothing that takes long
};

}  // namespace hemiola::synthesis
