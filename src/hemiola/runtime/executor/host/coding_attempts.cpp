// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/host/coding_attempts.hpp"

#include "hemiola/codec/zero_sample.hpp"

namespace hemiola {
namespace {

/// Of fewer bytes the first slices tell as soon.
constexpr std::size_t kLeastBytes = 4096;
/// Fewer zeros than one element in so many make nothing shorter.
constexpr std::int64_t kElementsPerZero = 100;

}  // namespace

void CodingAttempts::begin(const std::byte* elements, std::size_t bytes, std::size_t element_bytes) {
  *this = {};
  if (bytes < kLeastBytes) return;
  const codec::ZeroCount seen = codec::sample_zeros(elements, bytes, element_bytes);
  is_dense_ = seen.zeros * kElementsPerZero < seen.elements;
}

}  // namespace hemiola
