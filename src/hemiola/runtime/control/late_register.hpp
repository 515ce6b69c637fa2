// SPDX-License-Identifier: Apache-2.0
// Ranks agree here on the late rank: a word per operation that they change one after the other.
#pragma once

#include <cstdint>
#include <functional>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// One word for each of two operations in turn, at first 0; LateWord gives its meaning. Only all-reduces that look for
/// a late rank come here.
class LateRegister {
 public:
  virtual ~LateRegister() = default;

  /// Called every few milliseconds while an answer takes time; throws to abort. The register can be used after that.
  using Check = std::function<void()>;

  /// Counts this rank in, among so many, in one access, however many come at once; returns the word that this leaves.
  virtual std::uint64_t arrive(std::uint64_t operation, Rank self, int rank_count, const Check& check) = 0;
  virtual std::uint64_t load(std::uint64_t operation, const Check& check) = 0;
  /// True when the word was `expected` and is now `desired`; otherwise `expected` is the found word.
  virtual bool compare_exchange(std::uint64_t operation, std::uint64_t& expected, std::uint64_t desired,
                                const Check& check) = 0;
  /// Blocks until so many ranks have come to the operation.
  virtual void await_arrivals(std::uint64_t operation, int count, const Check& check) = 0;
};

}  // namespace hemiola
