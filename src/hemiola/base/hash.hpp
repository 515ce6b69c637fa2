// A 128-bit hash of contents that is the same on every run and machine: for checksums of files and to see
// whether two ranks hold the same schedule. Not cryptographic: it guards against accidents, not against an
// adversary.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace hemiola {

static_assert(std::endian::native == std::endian::little,
              "hashes and files take numbers as they lie in memory");

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// 32 hexadecimal digits.
  std::string hex() const;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

/// Feed it words and arrays; an array's length is part of what is hashed, so that neighbours cannot trade
/// elements.
class Hasher {
 public:
  void add(std::uint64_t word) {
    high_ = fold(high_ ^ word, 0x9e3779b97f4a7c15ull);
    low_ = fold(low_ ^ word, 0xd6e8feb86659fd93ull) + word;
  }

  void add_bytes(std::span<const std::byte> bytes) {
    add(bytes.size());
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) add(load(bytes.data() + i, 8));
    if (i < bytes.size()) add(load(bytes.data() + i, bytes.size() - i));
  }

  template <typename T>
  void add_array(std::span<const T> values) {
    static_assert(std::has_unique_object_representations_v<T>);
    add_bytes(std::as_bytes(values));
  }

  Hash128 finish() const { return {fold(high_, low_ | 1), fold(low_ ^ high_, 0xa0761d6478bd642full)}; }

 private:
  /// The product's two halves, added: every bit of the input reaches every bit of the result.
  static std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) + static_cast<std::uint64_t>(product >> 64);
  }
  static std::uint64_t load(const std::byte* from, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, bytes);
    return word;
  }

  std::uint64_t high_ = 0x243f6a8885a308d3ull;
  std::uint64_t low_ = 0x13198a2e03707344ull;
};

}  // namespace hemiola
