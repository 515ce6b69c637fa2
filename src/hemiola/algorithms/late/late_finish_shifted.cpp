// SPDX-License-Identifier: Apache-2.0
// The two finishes in which every early rank runs the same program, one round later than its predecessor.
#include <algorithm>
#include <array>

#include "hemiola/algorithms/late/late_finish.hpp"

namespace hemiola::algorithms {
namespace {

/// Which final chunks each rank holds, so that no useless copy is planned.
class Holdings {
 public:
  Holdings(int rank_count, int chunk_count)
      : chunk_count_(chunk_count), held_(static_cast<std::size_t>(rank_count) * chunk_count) {}
  bool has(Rank rank, Chunk chunk) const { return held_[at(rank, chunk)]; }
  void give(Rank rank, Chunk chunk) { held_[at(rank, chunk)] = true; }

 private:
  std::size_t at(Rank rank, Chunk chunk) const {
    return static_cast<std::size_t>(rank) * chunk_count_ + chunk;
  }
  std::size_t chunk_count_;
  std::vector<bool> held_;
};

/// The program of one early rank for n = 2^q, by local time tau = (round - rank) mod (n-1).
struct ExchangeProgram {
  std::vector<int> age;  ///< of the chunk the rank sends at tau: round - age is its number
  std::vector<int>
      mate;  ///< local time of the rank it exchanges with at tau; unused at 0, where it meets the late rank
};

/// Chunks of age i have 2^(i-1) holders. A rank's active chunk changes at local times x_0 = 0, x_1, …, whose
/// gaps are q-1 once, q-2 twice, …, 1 2^(q-2) times; it gives up an active chunk at age q and takes one of
/// age q minus the gap.
ExchangeProgram exchange_program(int q) {
  const int early = (1 << q) - 1;
  std::vector<int> starts{0};
  for (int gap = q - 1, count = 1; gap >= 1; --gap, count *= 2)
    for (int i = 0; i < count; ++i) starts.push_back(starts.back() + gap);
  ExchangeProgram program{std::vector<int>(early), std::vector<int>(early, 0)};
  std::vector<int> need(early,
                        0);  // age of the chunk to receive, at the local times that end an active chunk
  std::vector<bool> ends(early, false);
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const int end = starts[k] + q;  // active after the previous end, up to and including this
    const int previous = k == 0 ? 0 : starts[k - 1] + q;
    for (int tau = previous + 1; tau <= end; ++tau) program.age[tau % early] = tau - starts[k];
    if (k + 1 == starts.size()) continue;
    ends[end % early] = true;
    need[end % early] = end - starts[k + 1];
  }
  for (int age = 1; age < q; ++age) {
    std::vector<int> takers, givers;
    for (int tau = 1; tau < early; ++tau) {
      if (ends[tau] && need[tau] == age) takers.push_back(tau);
      if (!ends[tau] && program.age[tau] == age) givers.push_back(tau);
    }
    for (std::size_t i = 0; i < takers.size(); ++i) {
      program.mate[takers[i]] = givers[i];
      program.mate[givers[i]] = takers[i];
    }
  }
  return program;
}

int modulo(int a, int n) {
  return ((a % n) + n) % n;
}

std::vector<Rank> round_robin_owners(int early_count, int chunk_count) {
  std::vector<Rank> owner;
  for (int c = 0; c < chunk_count; ++c) owner.push_back(Rank{c % early_count});
  return owner;
}

/// Rank and late rank exchange chunk `round`, each adding its part, so both hold it final.
void meet_late_rank(int round, Rank rank, Rank late, int chunk_count, const Holdings& held,
                    std::vector<FinishMove>* moves) {
  const Chunk chunk{std::min(round, chunk_count - 1)};
  if (round < chunk_count) {
    moves->push_back({late, rank, chunk, true});
    moves->push_back({rank, late, chunk, true});
  } else if (!held.has(rank, chunk)) {
    moves->push_back({late, rank, chunk, false});
  }
}

}  // namespace

FinishTable shifted_exchange_finish(int rank_count, int chunk_count) {
  const int q = doubling_rounds(rank_count);
  const int early = rank_count - 1;
  const Rank late{early};
  const ExchangeProgram program = exchange_program(q);
  Holdings held(rank_count, chunk_count);
  FinishTable table{rank_count, round_robin_owners(early, chunk_count), {}};
  for (int round = 0; round < chunk_count + q - 1; ++round) {
    std::vector<FinishMove> moves;
    meet_late_rank(round, Rank{round % early}, late, chunk_count, held, &moves);
    for (Rank rank : indices<Rank>(early)) {
      const int tau = modulo(round - rank, early);
      if (tau == 0) continue;
      const Rank partner{modulo(round - program.mate[tau], early)};
      const int chunk = std::min(round - program.age[tau], chunk_count - 1);
      if (chunk >= 0 && !held.has(partner, Chunk{chunk}))
        moves.push_back({rank, partner, Chunk{chunk}, false});
    }
    for (const FinishMove& move : moves) held.give(move.dst, move.chunk);
    table.rounds.push_back(std::move(moves));
  }
  return table;
}

FinishTable shifted_delay_finish(int chunk_count) {
  // Rank u is at local time x = (u - round) mod 4 and receives the chunk of age kDelay[x]; its own enters at
  // x = 0. A chunk is passed on by its owner (to the late rank at age 1, to one rank at age 2, to one at age
  // 3) and by the second holder at age 3. Two ranks never pass it on at once: each rank has one active chunk
  // at a time.
  constexpr int kEarly = 4;
  constexpr std::array<int, kEarly> kDelay{0, 2, 3, 3};
  const Rank late{kEarly};
  Holdings held(kEarly + 1, chunk_count);
  FinishTable table{kEarly + 1, round_robin_owners(kEarly, chunk_count), {}};
  for (int round = 0; round < chunk_count + 2; ++round) {
    std::vector<FinishMove> moves;
    // The last chunk's owner gives its part to the late rank in round 0, when both ports are idle.
    if (round == 0 && chunk_count > 1)
      moves.push_back({table.owner.back(), late, Chunk{chunk_count - 1}, true});
    const auto copy = [&](int src, int dst, int chunk) {
      if (chunk >= 0 && !held.has(Rank{dst}, Chunk{chunk}))
        moves.push_back({Rank{src}, Rank{dst}, Chunk{chunk}, false});
    };
    const int entering = std::min(round, chunk_count - 1);
    if (chunk_count == 1) {
      meet_late_rank(round, Rank{round % kEarly}, late, chunk_count, held, &moves);
    } else if (round < chunk_count - 1) {
      moves.push_back({late, Rank{round % kEarly}, Chunk{round}, true});
    } else {
      copy(late, round % kEarly, entering);
    }
    for (int x = 1; x < kEarly; ++x) {
      const int dst = modulo(round + x, kEarly);
      const int age = kDelay[static_cast<std::size_t>(x)];
      const int owner = modulo(round - age, kEarly);
      const int src = age == 3 && x == 2 ? modulo(owner + 3, kEarly) : owner;
      copy(src, dst, std::min(round - age, chunk_count - 1));
    }
    copy(modulo(round - 1, kEarly), late, std::min(round - 1, chunk_count - 1));
    for (const FinishMove& move : moves) held.give(move.dst, move.chunk);
    table.rounds.push_back(std::move(moves));
  }
  return table;
}

FinishTable late_finish(int rank_count, int chunk_count, FinishKind kind) {
  if (kind == FinishKind::direct) return direct_finish(rank_count, chunk_count);
  if ((rank_count & (rank_count - 1)) == 0) return shifted_exchange_finish(rank_count, chunk_count);
  if (rank_count == 5) return shifted_delay_finish(chunk_count);
  return circulant_finish(rank_count, chunk_count);
}

}  // namespace hemiola::algorithms
