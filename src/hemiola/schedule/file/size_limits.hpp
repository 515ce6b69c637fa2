// SPDX-License-Identifier: Apache-2.0
// How large a schedule may be that a file of a given size describes, so that a few hostile bytes cannot make
// a reader allocate gigabytes. The writers refuse the same sizes as the readers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hemiola {

/// Owners take 4 bytes a chunk in memory. A schedule of more chunks than this is written with one owner each
/// (at least a byte), and so justifies itself.
inline constexpr std::int64_t kFreeChunks = 1 << 22;
/// Step offsets take 8 bytes a step in memory; steps may be empty.
inline constexpr std::int64_t kFreeSteps = 1 << 20;

constexpr std::int64_t most_chunks(std::int64_t file_bytes) {
  return std::max(kFreeChunks, file_bytes);
}
constexpr std::int64_t most_steps(std::int64_t file_bytes) {
  return std::max(kFreeSteps, file_bytes);
}

}  // namespace hemiola
