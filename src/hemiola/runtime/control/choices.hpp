// SPDX-License-Identifier: Apache-2.0
// Choices that the first rank to ask makes for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola {

/// The key of a choice: a digest of its conditions, and the number of earlier changes of these conditions. All ranks
/// change these between the same two operations, so a rank asks about epoch e+2 only when all have left epoch e, whose
/// choices are forgotten then.
struct ChoiceKey {
  std::uint64_t epoch = 0;
  Hash128 digest;
};

/// Any thread may ask. No rank waits here. A rank without an answer looks again later, and checks that the claimer
/// lives.
class Choices {
 public:
  virtual ~Choices() = default;

  /// True: nobody has asked before, and this rank must `decide`, a failure, too, for the others wait for it.
  virtual bool claim(const ChoiceKey& key) = 0;
  /// Once, by the claimer. Throws an ArgumentError if this epoch's choices take more room than there is; a decision of
  /// up to kSmallBytes still fits.
  virtual void decide(const ChoiceKey& key, std::span<const std::byte> bytes) = 0;
  struct Answer {
    enum class State : std::uint8_t {
      open,      ///< nobody has asked
      claimed,   ///< by `claimer`, who is to make it
      decided,   ///< as `bytes`
      outdated,  ///< others have left this epoch; ask again, about theirs
    };
    State state = State::open;
    Rank claimer{0};
    Bytes bytes;
  };
  virtual Answer look(const ChoiceKey& key) const = 0;

  static constexpr std::size_t kSmallBytes = 4096;
};

}  // namespace hemiola
