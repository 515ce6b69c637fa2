// SPDX-License-Identifier: Apache-2.0
// The last bytes of a stream that its sender's kernel has taken and the other end's may not have: with them the stream can
// go on over another connection. Positions count from the stream's beginning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hemiola/base/bytes.hpp"

namespace hemiola {

class KeptBytes {
 public:
  /// The stream's next bytes; those before `acknowledged` are not kept, nor any before them.
  void append(std::uint64_t acknowledged, std::span<const std::byte> bytes);
  void drop_before(std::uint64_t position);
  /// Back to the beginning of another stream.
  void restart();

  bool empty() const { return begin_ == end_; }
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  /// From a position within; valid until the next change.
  std::span<const std::byte> from(std::uint64_t position) const;

 private:
  Bytes bytes_;              ///< the last ones are kept
  std::uint64_t begin_ = 0;  ///< of the kept ones
  std::uint64_t end_ = 0;
};

}  // namespace hemiola
