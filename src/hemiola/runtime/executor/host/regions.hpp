// Where the memory of a program's regions lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hemiola/runtime/executor/program/program.hpp"

namespace hemiola {

/// Each region begins somewhere and goes on from there; the user's may instead be blocks of one size, each with memory of
/// its own. No place spans two of them: the program was compiled so.
class Regions {
 public:
  std::byte*& operator[](Region region) { return begin_[index(region)]; }
  std::byte* operator[](Region region) const { return begin_[index(region)]; }

  /// Has a region be these blocks, which outlive their use; none: it goes on from its begin.
  void set_blocks(Region region, std::span<std::byte* const> blocks, std::int64_t bytes) {
    Blocks& of = region == Region::input ? input_ : output_;
    of = {blocks, blocks.empty() ? 0 : bytes / static_cast<std::int64_t>(blocks.size())};
    are_blocks_ = !input_.memory.empty() || !output_.memory.empty();
  }
  std::span<std::byte* const> blocks(Region region) const {
    return region == Region::input ? input_.memory : output_.memory;
  }

  std::byte* at(const Place& place) const {
    if (are_blocks_ && place.region <= Region::output) [[unlikely]] {
      const Blocks& of = place.region == Region::input ? input_ : output_;
      if (!of.memory.empty() && of.bytes > 0)
        return of.memory[static_cast<std::size_t>(place.offset / of.bytes)] + place.offset % of.bytes;
    }
    return begin_[index(place.region)] + place.offset;
  }

 private:
  struct Blocks {
    std::span<std::byte* const> memory;
    std::int64_t bytes = 0;  ///< of each
  };
  static std::size_t index(Region region) { return static_cast<std::size_t>(region); }

  std::array<std::byte*, kRegionCount> begin_{};
  Blocks input_, output_;
  bool are_blocks_ = false;
};

}  // namespace hemiola
