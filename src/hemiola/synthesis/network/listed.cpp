// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/network/listed.hpp"

#include <utility>

#include "hemiola/synthesis/network/replay.hpp"

namespace hemiola::synthesis {

trees::Turned listed(const Channels& channels, const trees::Trees& trees, const trees::TurnOptions& options) {
  trees::Turned turned = trees::take_turns(channels.network(), trees, options);
  if (turned.complete && channels.has_switches())
    turned.end = replay(channels, turned.sends, static_cast<int>(trees.tree_of.size()));
  return turned;
}

trees::Turned best_listed(const Channels& channels, const trees::Trees& trees,
                          std::span<const trees::TurnRule> rules) {
  trees::Turned best = listed(channels, trees, {.rule = rules[0]});
  for (const trees::TurnRule rule : rules.subspan(1))
    if (trees::Turned other = listed(channels, trees, {.rule = rule}); other.end < best.end)
      best = std::move(other);
  return best;
}

}  // namespace hemiola::synthesis
