// SPDX-License-Identifier: Apache-2.0
// StragglAR's own finish for powers of two [StragglAR, Algorithm 1]. Where the printed pseudo-code is
// ambiguous or wrong we resolve it so that its claims hold; each place is marked below with the line it
// concerns.
#include <algorithm>
#include <string>

#include "hemiola/algorithms/late/late_finish.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

/// The state of Algorithm 1: which ranks hold each chunk that is final but not yet everywhere ("active").
class MatchingRounds {
 public:
  explicit MatchingRounds(int rank_count)
      : n_(rank_count),
        log_n_(doubling_rounds(rank_count)),
        late_(rank_count - 1),
        active_of_(rank_count, -1) {}

  std::vector<std::vector<FinishMove>> run() {
    std::vector<std::vector<FinishMove>> rounds;
    // Line 3 prints "r = 0 to n-2+log n", one round more than the n + log n - 2 that the paper proves.
    for (round_ = 0; round_ <= n_ + log_n_ - 3; ++round_) {
      moves_.clear();
      matched_.assign(static_cast<std::size_t>(n_), false);
      meet_late_rank();
      // Lines 6 and 9: round 0 has no other pair; it is neither of the two phases.
      if (round_ > 0 && round_ < log_n_) fill_phase();
      if (round_ >= log_n_) exchange_phase();
      settle();
      rounds.push_back(moves_);
    }
    return rounds;
  }

 private:
  int& active_of(int rank) { return active_of_[static_cast<std::size_t>(rank)]; }
  bool is_matched(int rank) const { return matched_[static_cast<std::size_t>(rank)]; }
  void match(int a, int b) {
    matched_[static_cast<std::size_t>(a)] = matched_[static_cast<std::size_t>(b)] = true;
  }
  void copy(int src, int dst, int chunk) {
    // In the last rounds the late rank is paired although it already has every chunk: nothing is sent to it.
    if (dst != late_) moves_.push_back({Rank{src}, Rank{dst}, Chunk{chunk}, false});
  }

  /// Round r < n-1: rank r and the late rank exchange chunk r. Afterwards the late rank holds the last chunk
  /// like any other (line 9: nothing in the print adds it to A).
  void meet_late_rank() {
    if (round_ >= n_ - 1) return;
    match(round_, late_);
    moves_.push_back({Rank{late_}, Rank{round_}, Chunk{round_}, true});
    moves_.push_back({Rank{round_}, Rank{late_}, Chunk{round_}, true});
  }

  /// Lines 6-8: every holder passes its chunk to a rank that has none; the newest goes to rank r-1 + log n,
  /// which meets the late rank just when that chunk must have arrived. The free ranks exclude the late one
  /// and those already taken.
  void fill_phase() {
    const int newest = round_ - 1;
    copy(newest, newest + log_n_, newest);
    match(newest, newest + log_n_);
    int free = 2 * (log_n_ - 1) + 1;
    for (int sender = 0; sender < late_; ++sender) {
      if (active_of(sender) < 0 || is_matched(sender)) continue;
      while (free < late_ && (active_of(free) >= 0 || is_matched(free))) ++free;
      HEMIOLA_CHECK(free < late_, "no rank without a chunk is left");
      copy(sender, free, active_of(sender));
      match(sender, free);
    }
  }

  /// Lines 10-16: holders of the oldest chunk are paired with all others. Ranks that soon meet the late rank
  /// pick first.
  void exchange_phase() {
    const int window_end =
        std::min(round_ + log_n_ - 1, n_ - 2);  // line 13 says r + log n, line 14 r + log n - 1
    for (int rank = round_ + 1; rank <= window_end; ++rank)
      if (!is_matched(rank)) pick_in_window(rank, window_end);
    // Lines 10-11, recomputed after the window's picks.
    std::vector<int> oldest, others;
    for (int rank = 0; rank < n_; ++rank)
      if (!is_matched(rank) && active_of(rank) >= 0)
        (active_of(rank) == round_ - log_n_ ? oldest : others).push_back(rank);
    HEMIOLA_CHECK(oldest.size() == others.size(),
                  "the two sides of round " + std::to_string(round_) + " differ");
    for (std::size_t i = 0; i < oldest.size(); ++i) exchange(oldest[i], others[i]);
  }

  /// Lines 14-15: the oldest chunk that the rank lacks and that will have expired when it meets the late rank
  /// (chunk <= rank - log n, which the print omits). It comes from some unmatched holder outside the window
  /// (the print asks it of all holders). The rank sends its own active chunk; the print swaps the two names.
  void pick_in_window(int rank, int window_end) {
    const bool has_oldest = active_of(rank) == round_ - log_n_;
    int partner = -1;
    for (int other = 0; other < n_; ++other) {
      if (is_matched(other) || active_of(other) < 0 || other == rank) continue;
      if (other > round_ && other <= window_end) continue;
      const int chunk = active_of(other);
      if (chunk == active_of(rank) || chunk > rank - log_n_ || (has_oldest == (chunk == round_ - log_n_)))
        continue;
      if (partner < 0 || chunk < active_of(partner)) partner = other;
    }
    HEMIOLA_CHECK(partner >= 0,
                  "no partner for rank " + std::to_string(rank) + " in round " + std::to_string(round_));
    exchange(rank, partner);
  }

  void exchange(int a, int b) {
    copy(a, b, active_of(a));
    copy(b, a, active_of(b));
    match(a, b);
  }

  /// Lines 18-22: the oldest chunk has expired; receivers of the others hold them now. (The print empties
  /// A[c] where it must delete it.)
  void settle() {
    const int expired = round_ - log_n_;
    for (int rank = 0; rank < n_; ++rank)
      if (active_of(rank) == expired && expired >= 0) active_of(rank) = -1;
    for (const FinishMove& move : moves_)
      if (move.chunk != expired && !move.reduce) active_of(move.dst) = move.chunk;
    if (round_ < n_ - 1) active_of(round_) = round_;
    if (round_ == n_ - 2) active_of(late_) = round_;
  }

  int n_;
  int log_n_;
  int late_;
  int round_ = 0;
  std::vector<int> active_of_;  // the one active chunk of each rank, -1 for none
  std::vector<bool> matched_;
  std::vector<FinishMove> moves_;
};

}  // namespace

FinishTable stragglar_finish(int rank_count) {
  FinishTable table{rank_count, {}, MatchingRounds(rank_count).run()};
  for (Rank rank : indices<Rank>(rank_count - 1)) table.owner.push_back(rank);
  return table;
}

}  // namespace hemiola::algorithms
