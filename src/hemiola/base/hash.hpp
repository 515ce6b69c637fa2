// SPDX-License-Identifier: Apache-2.0
// A 128-bit hash of contents that is the same on every run and machine, to see whether two ranks, or two machines, hold
// the same schedule. XXH3-128: not cryptographic, it guards against accidents, not against an adversary.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

namespace hemiola {

static_assert(std::endian::native == std::endian::little, "hashes take numbers as they lie in memory");

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// 32 hexadecimal digits, as `xxhsum -H2` prints them.
  std::string hex() const;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

/// A shorter one, XXH3-64, for values that are compared often.
std::uint64_t hash64(std::span<const std::byte> bytes);

/// Feed it words and arrays; an array's length is hashed, too, so that neighbours cannot trade elements.
class Hasher {
 public:
  Hasher();
  ~Hasher();

  void add(std::uint64_t word) { add_raw(std::as_bytes(std::span(&word, 1))); }

  void add_bytes(std::span<const std::byte> bytes) {
    add(bytes.size());
    add_raw(bytes);
  }

  template <typename T>
  void add_array(std::span<const T> values) {
    static_assert(std::has_unique_object_representations_v<T>);
    add_bytes(std::as_bytes(values));
  }

  Hash128 finish() const;

 private:
  struct State;

  void add_raw(std::span<const std::byte> bytes);

  std::unique_ptr<State> state_;
};

}  // namespace hemiola
