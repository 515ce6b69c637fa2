// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/hash.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include "hemiola/base/interrupt.hpp"

#define XXH_INLINE_ALL  // the functions are part of this file: nothing to link, nothing that another copy could replace
#include <xxhash.h>

namespace hemiola {

std::string Hash128::hex() const {
  std::array<char, 33> text;
  std::snprintf(text.data(), text.size(), "%016" PRIx64 "%016" PRIx64, high, low);
  return text.data();
}

std::uint64_t hash64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

struct Hasher::State {
  XXH3_state_t xxh3;
};

Hasher::Hasher() : state_(std::make_unique_for_overwrite<State>()) {
  XXH3_128bits_reset(&state_->xxh3);
}

Hasher::~Hasher() = default;

void Hasher::add_raw(std::span<const std::byte> bytes) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 22;
  constexpr std::size_t kBytesPerOperation = 16;
  do {
    const auto now = bytes.first(std::min(bytes.size(), kAtOnce));
    XXH3_128bits_update(&state_->xxh3, now.data(), now.size());
    heed_interrupt(static_cast<std::int64_t>(now.size() / kBytesPerOperation));
    bytes = bytes.subspan(now.size());
  } while (!bytes.empty());
}

Hash128 Hasher::finish() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh3);
  return {hash.high64, hash.low64};
}

}  // namespace hemiola
