// SPDX-License-Identifier: Apache-2.0
// When each chunk crosses each channel of its tree. A list schedule: a link that is free takes, of the chunks that wait
// for it, the most urgent; nothing waits on purpose, and nothing is planned ahead.
//
// If the trees' loads on all links are alike, the last send ends about one longest way behind that load. Links into a
// corner of a mesh carry only chunks that come down, and wait for them. Links out of it carry only chunks that go up,
// and end as much earlier.
#pragma once

#include <cstdint>
#include <functional>

#include "hemiola/base/units.hpp"
#include "hemiola/trees/network.hpp"
#include "hemiola/trees/sends.hpp"
#include "hemiola/trees/trees.hpp"

namespace hemiola::trees {

/// Which of the chunks that wait for a link goes first. A send's way is the time from its start to the last leaf.
enum class TurnRule : std::uint8_t {
  way,   ///< the longest way: best for trees from every rank
  turn,  ///< the first chunks of all trees, then the second ones; of these the longest way: best for one root
  due,   ///< earliest due date, less the way: best for trees up and down
  date,  ///< as the trees say; of equal dates the longest way
};

struct TurnOptions {
  TurnRule rule = TurnRule::way;
  std::uint64_t seed = 0;  ///< decides between sends alike
  /// Called every few thousand sends with how many there were since; false ends the search.
  std::function<bool(std::int64_t)> advance = {};
};

struct Turned {
  Sends sends;          ///< by start; of sends over one link, none share a step
  Picoseconds end = 0;  ///< when the last one has landed
  bool complete = true;
};

/// Deterministic. Throws ArgumentError where it takes more than kLongest. Cost: O(log chunks) a send, 0.1 to 0.2 µs
/// without switches.
Turned take_turns(const Network& network, const Trees& trees, const TurnOptions& options);

}  // namespace hemiola::trees
