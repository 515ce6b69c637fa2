// Many trees over the same links, each reducing chunks into its root and broadcasting them down again: which chunk takes
// which link when. A list schedule: every link serves, of what is there, the most urgent; nothing is planned ahead.
//
// Where the trees' loads on all links are alike, what ends last does so about one longest way behind that load: links into
// a corner of a mesh carry only what comes down and wait for it, those out of it only what goes up, and these are
// done as much earlier.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/base/units.hpp"
#include "hemiola/schedule/schedule.hpp"

namespace hemiola::algorithms {

/// What a kind of link takes.
struct TreeLinkCost {
  double ps_per_byte = 0;
  Picoseconds latency = 0;
};

/// One way of a cable; links 2i and 2i + 1 are the two ways of one.
struct TreeLink {
  Rank src;
  Rank dst;
  int kind = 0;  ///< of its costs
};

struct TreeLinks {
  std::vector<TreeLink> links;
  std::vector<TreeLinkCost> costs;  ///< by kind
};

/// A spanning tree.
struct UpDownTree {
  static constexpr std::int32_t kNone = -1;

  Rank root;
  std::vector<std::int32_t> up_link;  ///< by rank: the link to its parent; kNone at the root
  double chunk_bytes = 0;
  std::vector<Chunk> chunks;  ///< ascending
};

/// An all-reduce of chunks 0, 1, …, each of which goes up and down the one tree that lists it. The lower a chunk and the
/// longer its way from a link to the end, the earlier it takes it. Adds 2(n-1) transfers a chunk; of transfers over
/// one link, none share a step. Deterministic. Cost: O(log chunks) a transfer; 5 bytes a chunk and rank beside it.
void add_up_and_down(ScheduleBuilder* builder, const TreeLinks& network,
                     const std::vector<UpDownTree>& trees);

}  // namespace hemiola::algorithms
