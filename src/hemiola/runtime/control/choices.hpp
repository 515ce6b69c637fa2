// What the first rank to ask has chosen for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/hash.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola {

/// What a choice is about: a digest of all that decides about it, and how often the conditions of choosing have changed
/// before. All ranks change these between the same two operations, so a rank asks about epoch e+2 only when all have
/// left epoch e, whose choices are forgotten then.
struct ChoiceKey {
  std::uint64_t epoch = 0;
  Hash128 digest;
};

/// Any thread may ask. Nobody waits here: whoever lacks an answer looks again later, and at whether the claimer lives.
class Choices {
 public:
  virtual ~Choices() = default;

  /// True: nobody has asked before, and this rank must `decide`, a failure, too, for the others wait for it.
  virtual bool claim(const ChoiceKey& key) = 0;
  /// Once, by whoever has claimed. Throws ArgumentError where this epoch's choices take more than can be kept; there is
  /// still room to decide that, in up to kSmallBytes.
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
