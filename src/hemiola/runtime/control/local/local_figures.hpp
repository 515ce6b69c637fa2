// SPDX-License-Identifier: Apache-2.0
// The figures in shared memory.
#pragma once

#include <cstddef>
#include <span>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/control/figures.hpp"

namespace hemiola {

/// Two rows per rank, used in turn. Reading costs the square of the number of ranks that have shown something.
class LocalFigures final : public Figures {
 public:
  static std::size_t region_bytes(int rank_count);
  /// `region` is zero-filled at first, shared by all ranks, aligned to a cache line, and outlives this.
  LocalFigures(std::span<std::byte> region, Rank self, int rank_count);

  void show(std::uint64_t number, std::span<const float> shares) override;
  bool read(std::uint64_t number, std::span<double> best_share, const Check& check) const override;

 private:
  struct Row;

  Row& row(Rank rank, std::uint64_t number) const;
  std::span<float> shares(Rank rank, std::uint64_t number) const;

  std::byte* region_;
  Rank self_;
  int rank_count_;
};

}  // namespace hemiola
