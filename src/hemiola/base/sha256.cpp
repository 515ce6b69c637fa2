// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/sha256.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hemiola {
namespace {

/// The first 32 bits of the fractions of the cube roots of the first 64 primes (FIPS 180-4, §4.2.2).
constexpr std::array<std::uint32_t, 64> kRoundConstants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

template <typename Word>
Word big_endian(Word word) {
  static_assert(std::endian::native == std::endian::little);
  if constexpr (sizeof(Word) == 8)
    return __builtin_bswap64(word);
  else
    return __builtin_bswap32(word);
}

std::uint32_t word_at(const std::byte* from) {
  std::uint32_t word;
  std::memcpy(&word, from, sizeof word);
  return big_endian(word);
}

/// (FIPS 180-4, §6.2.2, step 1)
std::array<std::uint32_t, 64> message_schedule(const std::byte* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t t = 0; t < 16; ++t) w[t] = word_at(block + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  return w;
}

}  // namespace

/// (FIPS 180-4, §6.2.2, steps 2 to 4)
void Sha256::add_block(const std::byte* block) {
  const auto w = message_schedule(block);
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t big1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + big1 + ((e & f) ^ (~e & g)) + kRoundConstants[t] + w[t];
    const std::uint32_t big0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = big0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> round{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i] += round[i];
}

void Sha256::add(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t at = byte_count_ % kBlockBytes;
    const std::size_t taken = std::min(bytes.size(), kBlockBytes - at);
    std::memcpy(pending_.data() + at, bytes.data(), taken);
    byte_count_ += taken;
    bytes = bytes.subspan(taken);
    if (at + taken == kBlockBytes) add_block(pending_.data());
  }
}

Sha256Digest Sha256::finish() {
  const std::uint64_t bit_count = big_endian(8 * byte_count_);
  const std::byte one_bit{0x80}, zero{};
  add({&one_bit, 1});
  while (byte_count_ % kBlockBytes != kBlockBytes - sizeof bit_count) add({&zero, 1});
  add(std::as_bytes(std::span(&bit_count, 1)));
  Sha256Digest digest;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    const std::uint32_t word = big_endian(state_[i]);
    std::memcpy(digest.data() + 4 * i, &word, sizeof word);
  }
  return digest;
}

Sha256Digest hmac_sha256(std::span<const std::byte> key,
                         std::initializer_list<std::span<const std::byte>> parts) {
  std::array<std::byte, 64> inner{}, outer{};
  Sha256Digest short_key;
  if (key.size() > inner.size()) {
    Sha256 hash;
    hash.add(key);
    short_key = hash.finish();
    key = short_key;
  }
  if (!key.empty()) std::memcpy(inner.data(), key.data(), key.size());
  outer = inner;
  for (std::byte& b : inner) b ^= std::byte{0x36};
  for (std::byte& b : outer) b ^= std::byte{0x5c};
  Sha256 of_message, of_both;
  of_message.add(inner);
  for (const auto part : parts) of_message.add(part);
  of_both.add(outer);
  of_both.add(of_message.finish());
  return of_both.finish();
}

bool equal_in_constant_time(const Sha256Digest& a, const Sha256Digest& b) {
  // Through a volatile, so that no compiler finds the early way out.
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = difference | std::to_integer<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace hemiola
