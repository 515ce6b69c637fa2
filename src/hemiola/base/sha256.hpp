// SPDX-License-Identifier: Apache-2.0
// SHA-256 and HMAC-SHA256 (FIPS 180-4; RFC 2104), for proofs that a stranger cannot make up: a few hundred bytes each. To
// see whether two contents are the same, `hash.hpp` is twenty times as fast.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace hemiola {

using Sha256Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  /// Of everything that was added; nothing can be added afterwards.
  Sha256Digest finish();

 private:
  static constexpr std::size_t kBlockBytes = 64;

  void add_block(const std::byte* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlockBytes> pending_{};
  std::uint64_t byte_count_ = 0;
};

/// Of `parts`, one after the other, under `key`.
Sha256Digest hmac_sha256(std::span<const std::byte> key,
                         std::initializer_list<std::span<const std::byte>> parts);

/// Takes the same time for all differences, so that nobody can find a proof byte by byte.
bool equal_in_constant_time(const Sha256Digest& a, const Sha256Digest& b);

}  // namespace hemiola
