// SPDX-License-Identifier: Apache-2.0
// The facts about a rank that others need: its host, the ranks that may share its memory, and its addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/runtime/net/endpoint.hpp"

namespace hemiola {

struct Card {
  /// Names of the system's are short; two hosts of a job have one name in 2^64 cases.
  static constexpr std::size_t kNameDigits = 16;

  struct Head {
    Hash128 host;
    Hash128 memory;  ///< equal for ranks of one host that may open each other's memory
    std::uint32_t user = 0;
    std::uint32_t can_share = 0;
  };
  Head head;
  std::vector<Endpoint> endpoints;

  /// Of this process. `number` is its own, for the case that it can share memory with nobody.
  static Card own(std::uint64_t number, std::vector<Endpoint> endpoints);

  Bytes packed() const;
  /// Throws FormatError for bytes that are no card.
  static Card of(std::span<const std::byte> bytes);

  /// Whether two ranks may have memory in common.
  bool is_near(const Card& other) const {
    return head.host == other.head.host && head.memory == other.head.memory;
  }
  /// The name by which ranks that may have memory in common meet for it.
  std::string memory_name(const std::string& job) const {
    Hasher hasher;
    for (const std::uint64_t word : {head.host.high, head.host.low, head.memory.high, head.memory.low})
      hasher.add(word);
    return job + " on " + hasher.finish().hex().substr(0, kNameDigits);
  }
};

}  // namespace hemiola
