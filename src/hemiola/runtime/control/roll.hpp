// Who has come to which operation, and what each says that it does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/control/signature.hpp"

namespace hemiola {

/// Nobody waits here: a rank that is early reads what is there and looks again later. Ranks by their number in the group.
class Roll {
 public:
  virtual ~Roll() = default;

  /// What a rank says of an operation that it has come to.
  struct Word {
    const Signature& signature;
    std::string_view complaint;  ///< the caller's arguments were wrong, and how; empty: they were not
    std::int64_t own_ns = -1;    ///< what it did for itself since the operation before; -1: there was none
    /// All ranks want to know when all have come, and wait until they do: words that go to nobody unasked go to one that
    /// tells all, as a vote does.
    bool is_timed = false;
  };
  virtual void publish(std::uint64_t number, const Word& word) = 0;
  virtual bool has_arrived(Rank rank, std::uint64_t number) const = 0;

  /// Where words do not come to everybody unasked: has all ranks tell all others what they say of this operation, as soon
  /// as they come to it.
  virtual void call(std::uint64_t /*number*/) {}
  /// The same where this rank has no doubts, but nothing else will tell it whether all have come and agree: all ranks vote,
  /// and words travel only if they differ.
  virtual void vote(std::uint64_t /*number*/) {}

  /// What a rank that has arrived has said. Holds until this rank completes the operation.
  struct Entry {
    const Signature& signature;
    std::string_view complaint;  ///< empty: none; may be cut short
    std::int64_t own_ns;         ///< as the rank said it
    std::int64_t
        arrival_ns;  ///< of the session's clock, the same for all who read it; kUnknownTime: nobody asked
  };
  static constexpr std::int64_t kUnknownTime = -1;
  virtual Entry entry(Rank rank, std::uint64_t number) const = 0;

  /// Says that this rank needs nothing more from the others for operation `number`, so it may exit.
  virtual void complete(std::uint64_t number) = 0;
  virtual bool has_completed(Rank rank, std::uint64_t number) const = 0;
};

}  // namespace hemiola
