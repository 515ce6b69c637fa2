// SPDX-License-Identifier: Apache-2.0
// The partial sums of one chunk as a graph, and the proof that a result holds every contribution exactly
// once.
//
// A sum is a rank's own contribution or the addition of two earlier sums; a copy makes no new sum. The number
// of times a result counts rank r is therefore the number of paths from the result down to r's own
// contribution. Walking the additions once, newest first, counts those paths for 64 results at a time: two
// bits a sum, "counted" and "counted more than once". That is exact, needs memory for the additions only (no
// set of ranks per slot), and costs O(additions * ceil(distinct results / 64)).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola {

class Sums {
 public:
  using Id = std::int32_t;
  static constexpr Id kNothing = -1;

  explicit Sums(int rank_count) : rank_count_(rank_count) {}

  void clear() { additions_.clear(); }
  Id own(Rank rank) const { return rank; }
  bool is_own(Id id) const { return id < rank_count_; }
  /// Contributions and additions so far.
  std::int64_t size() const { return rank_count_ + static_cast<std::int64_t>(additions_.size()); }
  /// `tag` comes back in Flaw::tag when this addition is the one that counts a rank twice.
  Id add(Id a, Id b, std::int32_t tag) {
    additions_.push_back({a, b, tag});
    return rank_count_ + static_cast<Id>(additions_.size()) - 1;
  }

  /// The flaw of one result.
  struct Flaw {
    std::vector<Rank> missing;    ///< contributors the result lacks
    std::vector<Rank> twice;      ///< contributors it counts more than once
    std::int32_t tag = kNothing;  ///< the addition where the first of `twice` meets itself
  };

  /// Whether each of up to 64 results holds every contributor exactly once: bit i of the answer is set when
  /// result i does not. Keeps the data that flaw_of needs until the next call.
  std::uint64_t faulty(std::span<const Id> results, std::span<const Rank> contributors);
  /// Details for result `lane` of the last call of `faulty`.
  Flaw flaw_of(int lane, std::span<const Rank> contributors) const;

 private:
  struct Addition {
    Id a, b;
    std::int32_t tag;
  };
  /// Bit i: is the sum counted in result i, and is it counted more than once.
  struct Lanes {
    std::uint64_t once = 0, twice = 0;
  };
  void count(Id id, Lanes from);
  std::int32_t meeting_tag(int lane, Rank contributor) const;

  int rank_count_;
  std::vector<Addition> additions_;
  std::vector<Lanes> lanes_;
};

}  // namespace hemiola
