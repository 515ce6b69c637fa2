// SPDX-License-Identifier: Apache-2.0
// The processes of one job: their places, their losses, their messages before there are wires, and their common memory.
// A session knows no communicator and moves no data.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/deadline.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/runtime/session/cause.hpp"
#include "hemiola/runtime/session/courier.hpp"
#include "hemiola/runtime/session/lobby_terms.hpp"
#include "hemiola/runtime/session/lost_member.hpp"
#include "hemiola/runtime/session/progress_threads.hpp"

namespace hemiola {

/// Memory that several ranks map: this rank does for as long as it holds this.
class SharedRegion {
 public:
  virtual ~SharedRegion() = default;
  SharedRegion(const SharedRegion&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 protected:
  explicit SharedRegion(std::span<std::byte> bytes) : bytes_(bytes) {}

 private:
  std::span<std::byte> bytes_;
};

inline constexpr std::string_view kProcessHasEnded = "its process has ended";
inline constexpr std::string_view kHasLeft = "it has left the job";

/// The evidence that a rank is lost. Only `seen` evidence proves that it does nothing any more.
enum class Evidence : std::uint32_t {
  hearsay,    ///< others have said so
  suspicion,  ///< nothing was heard of it for too long: it may live, and think the same of us
  seen,       ///< its process has ended, or a connection with it that had not fallen silent
};

struct LostRank {
  Rank rank;
  std::string reason;  ///< kProcessHasEnded, or in other words
  Evidence evidence = Evidence::seen;

  std::int64_t at_ns = 0;                 ///< when this was noticed here
  std::optional<Cause> gave_up_for = {};  ///< its own statement before

  bool has_died() const { return reason == kProcessHasEnded; }
  /// In good order.
  bool has_left() const { return reason == kHasLeft; }

  /// The reason for which it gave up, if it did.
  Cause cause() const {
    if (gave_up_for) return *gave_up_for;
    if (has_died()) return {rank, "has died", at_ns};
    return {rank, has_left() ? "has left the job" : "is lost: " + reason, at_ns};
  }
};

inline bool is_among(Rank rank, const std::vector<LostRank>& lost) {
  return std::ranges::find(lost, rank, &LostRank::rank) != lost.end();
}

/// The ranks' common clock. Two ranks that read it at one instant differ by `error_ns` at most.
struct ClockReading {
  std::int64_t now_ns = 0;
  std::int64_t error_ns = 0;
};

/// Ranks are numbered as in the session, 0 to rank_count() - 1. `members` are sorted, this rank among them. A call that
/// takes members is collective over these only, and each of them makes the same such calls in the same order. A waiting
/// call makes the deadline's check, and passes on its errors. Any thread may call anything; two threads that make
/// collective calls over the same members see to the order.
class Session {
 public:
  virtual ~Session() = default;

  virtual Rank rank() const = 0;
  virtual int rank_count() const = 0;
  /// A number that ranks of one host, and no others, have in common; below 0 of one that this rank has never met.
  virtual int host_of(Rank rank) const = 0;

  /// Most bytes that a rank may bring to an exchange, and longest name of one.
  static constexpr std::size_t kMostExchanged = std::size_t{1} << 20;
  static constexpr std::size_t kLongestKey = 240;

  /// Everybody's bytes, in the members' order; sizes may differ. `key` is the subject of the exchange. Throws a
  /// TimeoutError that names the members that did not come, a LostRankError for one that died before it came, a
  /// MismatchError for keys that differ, and an ArgumentError for wrong members or sizes. After a TimeoutError the same
  /// call, with the same bytes, may be tried again.
  virtual std::vector<Bytes> exchange(const std::vector<Rank>& members, std::string_view key,
                                      std::span<const std::byte> own, const Deadline& deadline) = 0;

  /// Zero-filled memory, aligned to a page, that all members map; nothing where they have none in common. All ask for
  /// the same size. Throws as `exchange` does, MismatchError for sizes that differ, LostRankError where there is no
  /// more.
  virtual std::shared_ptr<SharedRegion> shared(const std::vector<Rank>& members, std::size_t bytes,
                                               const Deadline& deadline) = 0;

  /// The ranks that will do nothing any more, those that have finished among them. Cheap enough to ask every few
  /// milliseconds.
  virtual std::vector<LostRank> lost() const = 0;

  /// Connections between ranks that were refused or could not be made, the latest few in a sentence each; they may
  /// explain the silence of a rank.
  virtual std::vector<std::string> complaints() const { return {}; }

  /// A rank's wishes in an agreement on the members that go on.
  struct Wishes {
    bool leaves = false;  ///< it goes, and the others go on without it
    bool admits = false;  ///< newcomers that are ready go on, too
  };
  /// Which ranks go on: the members that have come here before all others had come or were lost, without those that
  /// leave, and with newcomers. All calls that return agree, even if ranks are lost meanwhile. A rank that was lost after
  /// it had come may be among them. `name` tells agreements of the same members apart. Throws a TimeoutError that names
  /// the ranks that have neither come nor are lost; the same call may be tried again. Throws a LostRankError if the
  /// others have given this rank up, and an ArgumentError as `exchange`.
  virtual std::vector<Rank> next_members(const std::vector<Rank>& members, std::string_view name,
                                         const Wishes& wishes, const Deadline& deadline) = 0;
  std::vector<Rank> survivors(const std::vector<Rank>& members, std::string_view name,
                              const Deadline& deadline) {
    return next_members(members, name, {}, deadline);
  }
  /// Whether a rank that is no member any more has said that it leaves: it is not lost.
  virtual bool has_taken_leave(Rank) const { return false; }
  /// Whether a newcomer is ready to be let in. Cheap enough for every operation.
  virtual bool has_guests() const { return false; }
  /// From now on newcomers come to the first of these members, and on each host to the first there; these tell the job's
  /// status. Where this rank's lobby is open, it has another status to tell.
  virtual void open_lobby(const std::vector<Rank>& /*members*/, const LobbyTerms& /*terms*/) {}
  virtual void close_lobby() {}
  /// The number of a rank's process in the system; 0 where it is not known.
  virtual std::uint64_t process_of(Rank /*rank*/) const { return 0; }

  virtual ClockReading clock() const = 0;

  /// States why this rank gives up, for others that find it gone (LostRank::gave_up_for). The statement counts until
  /// the rank takes it back because it goes on after all.
  void tell_cause(const Cause& cause) {
    const std::lock_guard lock(told_mutex_);
    if (told_) return;
    told_ = cause;
    has_told_ = true;
    publish_cause(told_);
  }
  void take_cause_back() {
    if (!has_told_.load(std::memory_order_relaxed)) [[likely]]
      return;
    const std::lock_guard lock(told_mutex_);
    told_.reset();
    has_told_ = false;
    publish_cause(told_);
  }
  std::optional<Cause> told_cause() const {
    const std::lock_guard lock(told_mutex_);
    return told_;
  }

  /// By which ranks talk that have no memory in common; null where all have. Lives as long as the session.
  virtual Courier* courier() { return nullptr; }

  /// How long this rank has been in operations of communicators over this session.
  std::atomic<std::int64_t> in_operations_ns = 0;

  /// In which communicators over this session go on in the background.
  ProgressThreads progress;

 protected:
  /// Shows it to the others.
  virtual void publish_cause(const std::optional<Cause>& cause) = 0;

  /// Calls `ask`, and tells the others over whom it failed.
  template <typename Ask>
  auto telling(Ask ask) {
    try {
      return ask();
    } catch (AbsentMemberError& e) {
      if (e.cause.at_ns == 0) e.cause.at_ns = clock().now_ns;
      tell_cause(e.cause);
      throw;
    } catch (const LostMemberError& e) {
      tell_cause(e.cause);
      throw;
    }
  }

 private:
  mutable std::mutex told_mutex_;
  std::optional<Cause> told_;
  std::atomic<bool> has_told_ = false;
};

}  // namespace hemiola
