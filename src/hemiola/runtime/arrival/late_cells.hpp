// Where the words by which ranks agree on who is late lie in shared memory, or the address of the arbiter that
// keeps them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/arrival/late_arbiter.hpp"

namespace hemiola {

/// One word for each of two operations in turn: a rank comes to operation g+2 only when all others have left
/// operation g.
class LateCells {
 public:
  static constexpr std::size_t region_bytes() { return 2 * sizeof(Cell) + sizeof(Notice); }

  /// `region` is zero-filled at first, shared by all ranks, aligned to a cache line, and outlives this.
  explicit LateCells(std::span<std::byte> region)
      : cells_(reinterpret_cast<Cell*>(region.data())), notice_(reinterpret_cast<Notice*>(cells_ + 2)) {
    HEMIOLA_CHECK(region.size() >= region_bytes(), "the region of the late ranks' words is too small");
  }

  std::atomic<std::uint64_t>& word_of(std::uint64_t operation) const { return cells_[operation % 2].word; }

  /// One rank says where its arbiter is; the others find it once it has.
  void announce(const LateAddress& address) {
    notice_->address = address;
    notice_->is_there.store(1, std::memory_order_release);
  }
  std::optional<LateAddress> announced() const {
    if (notice_->is_there.load(std::memory_order_acquire) == 0) return std::nullopt;
    return notice_->address;
  }

 private:
  struct alignas(128) Notice {
    std::atomic<std::uint32_t> is_there;
    LateAddress address;
  };
  struct alignas(128) Cell {
    std::atomic<std::uint64_t> word;
  };
  Cell* cells_;
  Notice* notice_;
};

}  // namespace hemiola
