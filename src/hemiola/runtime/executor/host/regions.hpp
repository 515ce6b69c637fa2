// SPDX-License-Identifier: Apache-2.0
// Where the memory of a program's regions lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hemiola/runtime/executor/block_places.hpp"
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
    BlockPlaces& of = region == Region::input ? input_ : output_;
    of = {blocks, begins};
    are_blocks_ = !input_.memory.empty() || !output_.memory.empty();
  }
  std::span<std::byte* const> blocks(Region region) const {
    return region == Region::input ? input_.memory : output_.memory;
  }

  /// How many of the region's bytes lie side by side from its beginning on.
  std::int64_t bytes_of_first(Region region, std::int64_t bytes) const {
    const BlockPlaces& of = region == Region::input ? input_ : output_;
    return of.memory.empty() ? bytes : of.bytes_of_first();
  }

  std::byte* at(const Place& place) const {
    if (are_blocks_ && place.region <= Region::output) [[unlikely]] {
      const BlockPlaces& of = place.region == Region::input ? input_ : output_;
      if (!of.memory.empty() && of.begins.back() > 0) return of.at(place.offset);
    }
    return begin_[index(place.region)] + place.offset;
  }

 private:
  static std::size_t index(Region region) { return static_cast<std::size_t>(region); }

  std::array<std::byte*, kRegionCount> begin_{};
  BlockPlaces input_, output_;
  bool are_blocks_ = false;
};

}  // namespace hemiola
