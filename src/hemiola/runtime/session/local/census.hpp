// SPDX-License-Identifier: Apache-2.0
// The processes of a session on one machine, by their numbers: those that founded it, and those that have come since.
// A newcomer waits here for its seat.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hemiola/base/descriptor.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/runtime/session/local/survivors_board.hpp"

namespace hemiola {

/// Two processes of one machine may have the same number one after the other. They did not start at the same time.
struct ProcessIdentity {
  std::uint64_t id = 0;
  std::uint64_t start = 0;  ///< as the system counts it

  static ProcessIdentity own();
  /// Its descriptor; empty once it has ended, and where it is not visible here.
  Descriptor open() const;
};

/// Lies in shared memory; zero-filled is its initial state.
class Census {
 public:
  /// As many as may ever come to one session.
  static constexpr int kMost = SurvivorsBoard::kMostRanks;
  static constexpr std::size_t kLongestAgreement = 240;

  /// Says how many ranks founded the session: their numbers are taken. Each of them says the same.
  void found(int rank_count);
  /// The number of one more process; nothing where there are no more.
  std::optional<Rank> take_number();
  void enroll(Rank number, const ProcessIdentity& process);
  std::optional<ProcessIdentity> process_of(Rank number) const;
  /// All that have ever enrolled.
  std::vector<Rank> enrolled() const;

  /// This newcomer is ready to be let in.
  void knock(Rank number);
  /// Cheap enough for every operation.
  bool has_guests() const { return waiting_.load(std::memory_order_relaxed) != 0; }
  /// Those that are ready and live.
  std::vector<Rank> guests();
  /// The agreement of this name has let it in. Members that say so say the same.
  void seat(Rank number, std::string_view agreement);
  /// The name of the agreement that has let it in.
  std::optional<std::string> seat_of(Rank number) const;

  /// This member leaves: it says so before it answers an agreement.
  void note_leaving(Rank number) {
    if (number < kMost) entry(number).leaves.store(true);
  }
  bool is_leaving(Rank number) const { return number < kMost && entry(number).leaves.load(); }

 private:
  enum class State : std::uint32_t { none, enrolled, ready, seated, gone };
  static constexpr std::size_t kWords = kLongestAgreement / sizeof(std::uint64_t) + 1;

  struct Entry {
    std::atomic<State> state;
    std::atomic<bool> leaves;
    std::atomic<std::uint64_t> id, start;
    std::array<std::atomic<std::uint64_t>, kWords> agreement;
  };
  Entry& entry(Rank number) { return entries_[static_cast<std::size_t>(number)]; }
  const Entry& entry(Rank number) const { return entries_[static_cast<std::size_t>(number)]; }
  void end_waiting(Entry* entry, State next);

  std::atomic<int> numbers_, waiting_;
  std::array<Entry, kMost> entries_;
};

}  // namespace hemiola
