// The task behind every collective in which all ranks end up with all chunks: some ranks hold some chunks, every rank
// wants every chunk.
#pragma once

#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/synthesis/channels.hpp"

namespace hemiola::synthesis {

struct Flood {
  const Channels& channels;
  int chunk_count;
  std::vector<std::vector<Chunk>> start;  ///< per rank, the chunks it holds at first

  std::int64_t sends_needed() const;
};

/// Throws ArgumentError that names a rank of `from`, a rank of `to` that none of `from` reaches, and the two sides.
void check_reachable(const Channels& channels, const std::vector<Rank>& from, const std::vector<Rank>& to);
/// The same for every chunk's holders and all ranks.
void check_reachable(const Flood& flood);

}  // namespace hemiola::synthesis
