// SPDX-License-Identifier: Apache-2.0
// The late register in shared memory: a word is an atomic.
#pragma once

#include <cstddef>
#include <span>

#include "hemiola/runtime/control/late_register.hpp"

namespace hemiola {

class LocalLateRegister final : public LateRegister {
 public:
  static std::size_t region_bytes();
  /// `region` is zero-filled at first, shared by all ranks, aligned to a cache line, and outlives this.
  explicit LocalLateRegister(std::span<std::byte> region);

  std::uint64_t arrive(std::uint64_t operation, Rank self, int rank_count, const Check& check) override;
  std::uint64_t load(std::uint64_t operation, const Check& check) override;
  bool compare_exchange(std::uint64_t operation, std::uint64_t& expected, std::uint64_t desired,
                        const Check& check) override;
  void await_arrivals(std::uint64_t operation, int count, const Check& check) override;

 private:
  struct Cell;
  Cell* cells_;
};

}  // namespace hemiola
