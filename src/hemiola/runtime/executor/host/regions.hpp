// SPDX-License-Identifier: Apache-2.0
// Where the memory of a program's regions lies.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hemiola/runtime/executor/program/program.hpp"

namespace hemiola {

/// Each region begins somewhere and goes on from there; the user's may instead be blocks, each with memory of its own. No
/// place spans two of them: the program was compiled so.
class Regions {
 public:
  std::byte*& operator[](Region region) { return begin_[index(region)]; }
  std::byte* operator[](Region region) const { return begin_[index(region)]; }

  /// Has a region be these blocks, which begin there and outlive their use; none: it goes on from its begin.
  void set_blocks(Region region, std::span<std::byte* const> blocks, std::span<const std::int64_t> begins) {
    Blocks& of = region == Region::input ? input_ : output_;
    of = {blocks, begins};
    are_blocks_ = !input_.memory.empty() || !output_.memory.empty();
  }
  std::span<std::byte* const> blocks(Region region) const {
    return region == Region::input ? input_.memory : output_.memory;
  }

  /// How many of the region's bytes lie side by side from its beginning on.
  std::int64_t bytes_of_first(Region region, std::int64_t bytes) const {
    const Blocks& of = region == Region::input ? input_ : output_;
    return of.memory.empty() ? bytes : *std::upper_bound(of.begins.begin(), of.begins.end() - 1, 0);
  }

  std::byte* at(const Place& place) const {
    if (are_blocks_ && place.region <= Region::output) [[unlikely]] {
      const Blocks& of = place.region == Region::input ? input_ : output_;
      if (!of.memory.empty() && of.begins.back() > 0) return of.at(place.offset);
    }
    return begin_[index(place.region)] + place.offset;
  }

 private:
  struct Blocks {
    std::span<std::byte* const> memory;
    std::span<const std::int64_t> begins;

    /// In the last block that begins there or before: blocks without bytes begin where the next one does.
    std::byte* at(std::int64_t offset) const {
      const auto after = std::upper_bound(begins.begin(), begins.end() - 1, offset);
      const auto block = static_cast<std::size_t>(after - begins.begin()) - 1;
      return memory[block] + (offset - begins[block]);
    }
  };
  static std::size_t index(Region region) { return static_cast<std::size_t>(region); }

  std::array<std::byte*, kRegionCount> begin_{};
  Blocks input_, output_;
  bool are_blocks_ = false;
};

}  // namespace hemiola
