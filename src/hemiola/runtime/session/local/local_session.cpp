// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/local/local_session.hpp"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <shared_mutex>

#include "hemiola/base/error.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/session/exchange_check.hpp"
#include "hemiola/runtime/session/local/machine_clock.hpp"
#include "hemiola/runtime/session/local/meeting.hpp"
#include "hemiola/runtime/session/local/packet_socket.hpp"
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
      : rank_(options.rank),
        name_(options.name),
        memory_(std::make_shared<SessionMemory>(std::move(meeting.memory), rank_)) {
    for (Descriptor& process : meeting.processes) processes_.emplace_back().descriptor = std::move(process);
    memory_->census().found(options.rank_count);
    memory_->census().enroll(rank_, ProcessIdentity::own());
  }
  JoinedSession(const Entry& entry, Admission admission)
      : rank_(admission.number),
        name_(entry.name),
        invitation_(std::move(admission.invitation)),
        memory_(std::make_shared<SessionMemory>(std::move(admission.memory), rank_)) {
    meet({});
    processes_.back().is_met = true;
    memory_->census().enroll(rank_, ProcessIdentity::own());
  }

  Rank rank() const override { return rank_; }
  int rank_count() const override {
    const std::shared_lock lock(processes_mutex_);
    return static_cast<int>(processes_.size());
  }
  int host_of(Rank rank) const override {
    const std::shared_lock lock(processes_mutex_);
    const auto number = static_cast<std::size_t>(rank);
    return number < processes_.size() && processes_[number].is_met ? 0 : -1;
  }

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

  std::vector<Rank> next_members(const std::vector<Rank>& members, std::string_view name,
                                 const Wishes& wishes, const Deadline& deadline) override {
    check_members(members, rank_, rank_count());
    if (wishes.leaves) memory_->census().note_leaving(rank_);
    const SurvivorsBoard::Question question{members,
                                            rank_,
                                            name,
                                            deadline,
                                            ended_processes(),
                                            wishes.leaves,
                                            wishes.admits ? memory_->census().guests() : std::vector<Rank>()};
    const std::vector<Rank> next = telling([&] { return memory_->survivors_board().answer(question); });
    meet(next);
    for (Rank member : next)
      if (!std::ranges::binary_search(members, member)) memory_->census().seat(member, name);
    return next;
  }
  bool has_taken_leave(Rank rank) const override { return memory_->census().is_leaving(rank); }
  bool has_guests() const override { return memory_->census().has_guests(); }
  std::uint64_t process_of(Rank rank) const override {
    const auto identity = memory_->census().process_of(rank);
    return identity ? identity->id : 0;
  }

  const std::string& invitation() const override { return invitation_; }
  Seat await_seat(const Deadline& deadline) override {
    Census& census = memory_->census();
    meet(census.enrolled());
    census.knock(rank_);
    for (Pause pause;; pause.wait()) {
      if (const auto agreement = census.seat_of(rank_)) {
        Seat seat{*agreement, memory_->survivors_board().answer_for_guest(*agreement, rank_)};
        meet(seat.members);
        return seat;
      }
      deadline.check();
      if (deadline.passed())
        throw TimeoutError("join: no member of job '" + name_ + "' has called grow() within " +
                           format_seconds(deadline.seconds()) + "; members call it where comm.is_called");
      if (lost().size() + 1 >= static_cast<std::size_t>(met_count()))
        throw LostRankError("join: the job '" + name_ + "' is over: all its processes have ended");
    }
  }

  void open_lobby(const std::vector<Rank>& members, const LobbyTerms& terms) override {
    if (lobby_) return lobby_->tell(terms.status);
    if (members.front() != rank_) return;
    lobby_ = std::make_unique<Lobby>(name_, memory_->file(), terms,
                                     [this] { return memory_->census().take_number(); });
  }
  void close_lobby() override { lobby_.reset(); }
  void meet_entered() override { meet(memory_->census().enrolled()); }
  std::uint64_t memory_number() const override {
    struct stat file{};
    ::fstat(memory_->file().get(), &file);
    return static_cast<std::uint64_t>(file.st_ino);
  }

  /// A process descriptor becomes readable when the process has ended; a zombie has.
  std::vector<LostRank> lost() const override {
    const std::shared_lock lock(processes_mutex_);
    std::vector<pollfd> others;
    for (const Process& process : processes_) others.push_back({process.descriptor.get(), POLLIN, 0});
    others[static_cast<std::size_t>(rank_)].fd = -1;  // poll() passes over negative descriptors
    const bool some_have_ended = ::poll(others.data(), others.size(), 0) > 0;
    std::vector<LostRank> ended;
    if (!some_have_ended && !has_forgotten_) return ended;
    for (Rank rank : indices<Rank>(static_cast<int>(processes_.size())))
      if (others[static_cast<std::size_t>(rank)].revents != 0 ||
          processes_[static_cast<std::size_t>(rank)].has_ended)
        ended.push_back(ended_rank(rank));
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
    if (processes_[static_cast<std::size_t>(rank)].seen_to_end_ns.compare_exchange_strong(at_ns, now_ns))
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

  struct Process {
    Descriptor descriptor;
    bool is_met = true;
    bool has_ended = false;                                ///< and its descriptor is closed
    mutable std::atomic<std::int64_t> seen_to_end_ns = 0;  ///< 0: not yet
  };

  /// Of all processes that this one has met, how many there are.
  std::ptrdiff_t met_count() const {
    const std::shared_lock lock(processes_mutex_);
    return std::ranges::count_if(processes_, &Process::is_met);
  }

  /// Opens descriptors of newcomers, and closes those of ended processes.
  void meet(const std::vector<Rank>& members) {
    const std::unique_lock lock(processes_mutex_);
    const Rank last = members.empty() ? rank_ : std::max(members.back(), rank_);
    while (processes_.size() <= static_cast<std::size_t>(last)) processes_.emplace_back().is_met = false;
    for (Rank member : members) {
      Process& process = processes_[static_cast<std::size_t>(member)];
      if (process.is_met) continue;
      process.is_met = true;
      if (const auto identity = memory_->census().process_of(member)) process.descriptor = identity->open();
      process.has_ended = !process.descriptor;
      has_forgotten_ |= process.has_ended;
    }
    for (Process& process : processes_) {
      pollfd one{process.descriptor.get(), POLLIN, 0};
      if (!process.descriptor || ::poll(&one, 1, 0) <= 0) continue;
      process.descriptor = Descriptor();
      process.has_ended = has_forgotten_ = true;
    }
  }

  Rank rank_;
  std::string name_, invitation_;
  mutable std::shared_mutex processes_mutex_;  ///< guards the two below
  std::deque<Process> processes_;              ///< by number
  bool has_forgotten_ = false;                 ///< processes that have ended
  std::shared_ptr<SessionMemory> memory_;
  std::unique_ptr<Lobby> lobby_;
};

}  // namespace

std::shared_ptr<LocalSession> LocalSession::join(const SessionOptions& options) {
  if (options.rank_count < 1)
    throw ArgumentError("a session has at least one rank, got rank_count " +
                        std::to_string(options.rank_count));
  return std::make_shared<JoinedSession>(options, hemiola::meet(options));
}

std::shared_ptr<LocalSession> LocalSession::enter(const Entry& entry) {
  const Deadline deadline(entry.timeout_s, entry.check);
  return std::make_shared<JoinedSession>(entry, Lobby::enter(entry.name, entry.version, deadline));
}

/// One process founds at a time, while it holds a name of the system's; that is free once its lobby is open, or it has
/// died.
std::shared_ptr<LocalSession> LocalSession::enter_or_found(const Entry& entry) {
  const Deadline deadline(entry.timeout_s, entry.check);
  for (Pause pause;; pause.wait()) {
    if (Lobby::is_open(entry.name)) return enter(entry);
    const Descriptor founds = listen_at(entry.name + " founding");
    if (founds && !Lobby::is_open(entry.name)) {
      auto session = join({Rank{0}, 1, entry.name, entry.timeout_s, entry.check});
      session->open_lobby({Rank{0}}, {entry.version, "", ""});
      for (Pause opening; !Lobby::is_open(entry.name) && !deadline.passed(); opening.wait()) deadline.check();
      return session;
    }
    deadline.check();
    if (deadline.passed())
      throw TimeoutError("join: another process founds '" + entry.name + "' on this host, and stands still");
  }
}

}  // namespace hemiola
