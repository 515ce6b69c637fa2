// SPDX-License-Identifier: Apache-2.0
// The operation to which each rank has come, and its signature.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/control/arrival.hpp"
#include "hemiola/runtime/control/signature.hpp"

namespace hemiola {

/// No rank waits here: an early rank reads the present words and looks again later. Ranks by their number in the group.
class Roll {
 public:
  virtual ~Roll() = default;

  /// A rank's words about an operation to which it has come.
  struct Word {
    const Signature& signature;
    std::string_view complaint;  ///< the caller's arguments were wrong, and how; empty: they were not
    Arrival arrival{};
    /// All ranks want to know when all have come, and wait until they do: words that go to nobody unasked go to one that
    /// tells all, as a vote does.
    bool is_timed = false;
    /// A newcomer waits, or this rank leaves: all are to agree on the next members.
    bool calls = false;
  };
  virtual void publish(std::uint64_t number, const Word& word) = 0;
  virtual bool has_arrived(Rank rank, std::uint64_t number) const = 0;

  /// For words that do not reach everybody unasked: all ranks tell all others their words about this operation, as soon
  /// as they come to it.
  virtual void call(std::uint64_t /*number*/) {}
  /// The same where this rank has no doubts, but nothing else will tell it whether all have come and agree: all ranks vote,
  /// and words travel only if they differ.
  virtual void vote(std::uint64_t /*number*/) {}

  /// The words of a rank that has arrived. They hold until this rank completes the operation.
  struct Entry {
    const Signature& signature;
    std::string_view complaint;  ///< empty: none; may be cut short
    Arrival arrival;             ///< as the rank said it; unknown where nobody asked
  };
  virtual Entry entry(Rank rank, std::uint64_t number) const = 0;

  /// Whether a rank's words about an operation call for the next members; the same on all ranks, once each has heard here
  /// that all have come.
  virtual bool is_called(std::uint64_t number) const = 0;

  /// Says that this rank needs nothing more from the others for operation `number`, so it may exit.
  virtual void complete(std::uint64_t number) = 0;
  virtual bool has_completed(Rank rank, std::uint64_t number) const = 0;

  /// The roll keeps the arrivals of all ranks for `arrivals`; false: each operation's have to be asked for.
  virtual bool keeps_arrivals() const { return false; }
  /// All ranks' arrivals at the latest operations from `first` to before `end`, a row each: at most kKeptArrivals, and
  /// those to which all came. `end` is the operation that this rank is in, or its next one.
  virtual std::vector<Arrival> arrivals(std::uint64_t /*first*/, std::uint64_t /*end*/) const { return {}; }
};

}  // namespace hemiola
