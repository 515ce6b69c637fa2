// SPDX-License-Identifier: Apache-2.0
// The task behind every collective in which all ranks end up with all chunks: some ranks hold some chunks, every rank
// wants every chunk.
#pragma once

#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/synthesis/network/channels.hpp"

namespace hemiola::synthesis {

struct Flood {
  const Channels& channels;
  int chunk_count;
  std::vector<std::vector<Chunk>> start;  ///< per rank, the chunks it holds at first

  /// `holders`: per chunk.
  Flood(const Channels& channels, const std::vector<std::vector<Rank>>& holders);

  std::int64_t sends_needed() const;
};

}  // namespace hemiola::synthesis
