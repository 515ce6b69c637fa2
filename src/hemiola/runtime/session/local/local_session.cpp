// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/local/local_session.hpp"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/exchange_check.hpp"
#include "hemiola/runtime/session/local/machine_clock.hpp"
#include "hemiola/runtime/session/local/meeting.hpp"
#include "hemiola/runtime/session/local/session_memory.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

/// A rank's slot of a region in an exchange: this, then the bytes. Untouched memory costs nothing, so slots are as
/// large as they may have to be.
struct Parcel {
  std::uint64_t key_bytes;
  std::uint64_t bytes;
  char key[Session::kLongestKey];
};
constexpr std::size_t kSlotBytes = sizeof(Parcel) + Session::kMostExchanged;

class JoinedSession final : public LocalSession {
 public:
  JoinedSession(const SessionOptions& options, Meeting meeting)
      : rank_(options.rank), processes_(std::move(meeting.processes)), seen_to_end_ns_(processes_.size()) {
    memory_ = std::make_shared<SessionMemory>(std::move(meeting.memory), rank_);
  }

  Rank rank() const override { return rank_; }
  int rank_count() const override { return static_cast<int>(processes_.size()); }
  int host_of(Rank) const override { return 0; }

  std::vector<Bytes> exchange(const std::vector<Rank>& members, std::string_view key,
                              std::span<const std::byte> own, const Deadline& deadline) override {
    check_members(members, rank_, rank_count());
    check_exchange_limits(key, own);
    const auto self = static_cast<std::size_t>(std::ranges::find(members, rank_) - members.begin());
    const auto fill = [&](std::span<std::byte> region) { put(key, own, region.subspan(self * kSlotBytes)); };
    const auto region = telling([&] {
      return memory_->share({members, members.size() * kSlotBytes, deadline, ended_processes(), fill});
    });
    std::vector<Bytes> all;
    for (std::size_t i = 0; i < members.size(); ++i)
      all.push_back(take(key, members[i], region->bytes().subspan(i * kSlotBytes)));
    return all;
  }

  std::shared_ptr<SharedRegion> shared(const std::vector<Rank>& members, std::size_t bytes,
                                       const Deadline& deadline) override {
    check_members(members, rank_, rank_count());
    return telling([&] { return memory_->share({members, bytes, deadline, ended_processes(), {}}); });
  }

  std::vector<Rank> survivors(const std::vector<Rank>& members, std::string_view name,
                              const Deadline& deadline) override {
    check_members(members, rank_, rank_count());
    const SurvivorsBoard::Question question{members, rank_, name, deadline, ended_processes()};
    return telling([&] { return memory_->survivors_board().answer(question); });
  }

  /// A process descriptor becomes readable when the process has ended; a zombie has.
  std::vector<LostRank> lost() const override {
    std::vector<pollfd> others;
    for (const Descriptor& process : processes_) others.push_back({process.get(), POLLIN, 0});
    others[static_cast<std::size_t>(rank_)].fd = -1;  // poll() passes over negative descriptors
    std::vector<LostRank> ended;
    if (::poll(others.data(), others.size(), 0) <= 0) return ended;
    for (Rank rank : indices<Rank>(rank_count()))
      if (others[static_cast<std::size_t>(rank)].revents != 0) ended.push_back(ended_rank(rank));
    return ended;
  }

  ClockReading clock() const override { return {machine_now_ns(), 0}; }

 protected:
  void publish_cause(const std::optional<Cause>& cause) override {
    memory_->cause_board().tell(rank_, cause);
  }

 private:
  /// The first rank that looks notes the time for all ranks. A later look says the same.
  LostRank ended_rank(Rank rank) const {
    std::int64_t at_ns = 0;
    const std::int64_t now_ns = memory_->cause_board().found_gone_ns(rank, clock().now_ns);
    if (seen_to_end_ns_[static_cast<std::size_t>(rank)].compare_exchange_strong(at_ns, now_ns))
      at_ns = now_ns;
    return {rank, std::string(kProcessHasEnded), Evidence::seen, at_ns, memory_->cause_board().told_by(rank)};
  }

  SessionMemory::Ended ended_processes() const {
    return [this] { return lost(); };
  }

  static void put(std::string_view key, std::span<const std::byte> own, std::span<std::byte> slot) {
    Parcel parcel{key.size(), own.size(), {}};
    std::memcpy(parcel.key, key.data(), key.size());
    std::memcpy(slot.data(), &parcel, sizeof parcel);
    if (!own.empty()) std::memcpy(slot.data() + sizeof parcel, own.data(), own.size());
  }

  Bytes take(std::string_view key, Rank from, std::span<const std::byte> slot) const {
    Parcel parcel;
    std::memcpy(&parcel, slot.data(), sizeof parcel);
    if (parcel.key_bytes > sizeof parcel.key || parcel.bytes > slot.size() - sizeof parcel)
      throw_for(
          {from, "has sent what no rank sends: a parcel that is larger than its slot", machine_now_ns()},
          from,
          "rank " + std::to_string(from) +
              " has brought a parcel that is larger than its slot to the exchange of '" + std::string(key) +
              "'");
    const std::string_view theirs(parcel.key, parcel.key_bytes);
    if (theirs != key)
      throw MismatchError("rank " + std::to_string(from) + " exchanges '" + std::string(theirs) + "', rank " +
                          std::to_string(rank_) + " '" + std::string(key) +
                          "'; all must exchange the same things in the same order");
    const auto bytes = slot.subspan(sizeof parcel, parcel.bytes);
    return {bytes.begin(), bytes.end()};
  }

  Rank rank_;
  std::vector<Descriptor> processes_;
  mutable std::vector<std::atomic<std::int64_t>> seen_to_end_ns_;  ///< 0: not yet
  std::shared_ptr<SessionMemory> memory_;
};

}  // namespace

std::shared_ptr<LocalSession> LocalSession::join(const SessionOptions& options) {
  if (options.rank_count < 1)
    throw ArgumentError("a session has at least one rank, got rank_count " +
                        std::to_string(options.rank_count));
  return std::make_shared<JoinedSession>(options, meet(options));
}

}  // namespace hemiola
