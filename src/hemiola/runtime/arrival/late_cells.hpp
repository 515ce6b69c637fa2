// Where the words by which ranks agree on who is late lie in shared memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hemiola/base/error.hpp"

namespace hemiola {

/// One word for each of two operations in turn: a rank comes to operation g+2 only when all others have left operation g.
class LateCells {
 public:
  static constexpr std::size_t region_bytes() { return 2 * sizeof(Cell); }

  /// `region` is zero-filled at first, shared by all ranks, aligned to a cache line, and outlives this.
  explicit LateCells(std::span<std::byte> region) : cells_(reinterpret_cast<Cell*>(region.data())) {
    HEMIOLA_CHECK(region.size() >= region_bytes(), "the region of the late ranks' words is too small");
  }

  std::atomic<std::uint64_t>& word_of(std::uint64_t operation) const { return cells_[operation % 2].word; }

 private:
  struct alignas(128) Cell {
    std::atomic<std::uint64_t> word;
  };
  Cell* cells_;
};

}  // namespace hemiola
