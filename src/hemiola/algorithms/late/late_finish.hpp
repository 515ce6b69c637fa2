// SPDX-License-Identifier: Apache-2.0
// How n-1 ranks that have already reduced their parts and one late rank finish an all-reduce in the fewest
// rounds. The late rank sends its raw chunks, one a round, and the finished chunks double behind it like a
// pipelined broadcast.
#pragma once

#include <cstdint>
#include <vector>

#include "hemiola/algorithms/index/binary.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola::algorithms {

/// One message of a round. Ranks are numbered with the late rank last (rank_count - 1).
struct FinishMove {
  Rank src;
  Rank dst;
  Chunk chunk;
  bool reduce = false;
};

/// rounds[t] holds the moves of round t after the late rank's arrival: at most one sent and one received per
/// rank. owner[c] is the early rank that holds chunk c reduced over all early ranks.
struct FinishTable {
  int rank_count = 0;
  std::vector<Rank> owner;
  std::vector<std::vector<FinishMove>> rounds;
};

/// Powers of two, pairwise exchanges, closed form: all early ranks run one program shifted in time:
/// chunk_count + log2 n - 1 rounds, owner of chunk j is j mod (n-1).
FinishTable shifted_exchange_finish(int rank_count, int chunk_count);

/// Five ranks: the same idea with a send and a receive to different peers, from a table of receive delays.
FinishTable shifted_delay_finish(int chunk_count);

/// Any rank count: a round-optimal broadcast on a circulant graph [Träff, 2024] whose roles the ranks wander
/// through, so that each is entry role equally often and owners are balanced. chunk_count + ⌈log2 n⌉ - 1
/// rounds.
FinishTable circulant_finish(int rank_count, int chunk_count);

/// StragglAR's published one for powers of two: rank r exchanges chunk r with the late rank in round r, all
/// other ranks pair up; n + log2 n - 2 rounds for one chunk per early rank [StragglAR, Algorithm 1].
FinishTable stragglar_finish(int rank_count);

/// Any rank count: owners send their chunks to every rank themselves, in turns, chunk_count + rank_count - 1 rounds. More
/// rounds than those above, but a chunk depends on no relay, so a message that comes late holds up no other chunk. For
/// an odd number of early ranks no two messages of a round end at one rank; for an even number one of a round may.
FinishTable direct_finish(int rank_count, int chunk_count);

enum class FinishKind : std::uint8_t {
  doubling,  ///< in the fewest rounds: the right one of the first three for (rank_count, chunk_count)
  direct
};
FinishTable late_finish(int rank_count, int chunk_count, FinishKind kind);

}  // namespace hemiola::algorithms
