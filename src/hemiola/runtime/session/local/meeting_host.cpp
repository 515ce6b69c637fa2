// SPDX-License-Identifier: Apache-2.0
// Rank 0's side of the meeting.
#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hemiola/base/error.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/session/absence.hpp"
#include "hemiola/runtime/session/local/machine_clock.hpp"
#include "hemiola/runtime/session/local/meeting.hpp"
#include "hemiola/runtime/session/local/packet_socket.hpp"
#include "hemiola/runtime/session/local/session_memory.hpp"

namespace hemiola {
namespace {

/// How long rank 0 stays after something went wrong, to tell those who come later.
constexpr double kStaySeconds = 2.0;

struct Guest {
  Descriptor socket;
  Descriptor process;  ///< from its hello on
  int process_id = 0;
  std::optional<Rank> rank;  ///< where it sits
};

struct Fault {
  Packet::Fault kind;
  Cause cause;
};

class Host {
 public:
  Host(const SessionOptions& options, Descriptor listener, const Descriptor& own_process,
       const Deadline& deadline)
      : options_(options),
        listener_(std::move(listener)),
        own_process_(own_process),
        deadline_(deadline),
        seat_of_(static_cast<std::size_t>(options.rank_count)) {}

  Meeting hold() {
    while (!fault_ && !everyone_is_here()) {
      if (deadline_.passed()) note_absence(format_seconds(options_.timeout_s));
      serve(deadline_.milliseconds_left(1 << 20));
      deadline_.check();
    }
    if (fault_) turn_everyone_away();
    return welcome_everyone();
  }

 private:
  bool everyone_is_here() const { return missing().empty(); }

  std::vector<Rank> missing() const {
    std::vector<Rank> ranks;
    for (Rank rank : indices<Rank>(options_.rank_count))
      if (rank != options_.rank && !seat_of_[rank]) ranks.push_back(rank);
    return ranks;
  }

  /// Somebody has waited for the missing for as long as it would: rank 0, or a guest, without which nobody can begin.
  void note_absence(const std::string& waited) {
    if (fault_) return;
    const std::string did = "of " + std::to_string(options_.rank_count) + " did not join session '" +
                            options_.name + "' within " + waited;
    Cause cause = absence_of(missing(), did, machine_now_ns());
    cause.reason += "; is it running, with the same session name?";
    fault_ = Fault{Packet::Fault::timeout, std::move(cause)};
  }

  /// Waits for something to happen at the listener or at a guest's socket, and deals with it.
  void serve(int timeout_ms) {
    std::vector<pollfd> waiting{{listener_.get(), POLLIN, 0}};
    for (const Guest& guest : guests_) waiting.push_back({guest.socket.get(), POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), timeout_ms) <= 0) return;
    for (std::size_t i = guests_.size(); i-- > 0;)
      if (waiting[i + 1].revents != 0 && !hear(guests_[i]))
        guests_.erase(guests_.begin() + static_cast<long>(i));
    if (waiting[0].revents != 0) let_in();
  }

  void let_in() {
    Guest guest;
    guest.socket = accept_from(listener_);
    if (!guest.socket) return;
    Packet greeting;
    if (send_packet(guest.socket, greeting, {}, deadline_) == Delivery::arrived)
      guests_.push_back(std::move(guest));
  }

  /// False when the guest is gone and was not seated.
  bool hear(Guest& guest) {
    Packet packet;
    std::vector<Descriptor> descriptors;
    const Delivery delivery = receive_packet(guest.socket, packet, descriptors, 0);
    if (delivery == Delivery::nothing) return true;
    if (delivery == Delivery::closed) return take_leave(guest);
    if (packet.kind == Packet::Kind::who_is_missing && !everyone_is_here()) note_absence(packet.text);
    if (packet.kind == Packet::Kind::hello && descriptors.size() == 1) {
      guest.process = std::move(descriptors.front());
      guest.process_id = packet.process;
      seat(guest, packet);
    }
    return true;
  }

  bool take_leave(const Guest& guest) {
    if (!guest.rank || fault_) return false;
    fault_ =
        Fault{Packet::Fault::lost_rank,
              {*guest.rank,
               "(process " + std::to_string(guest.process_id) + ") died or was interrupted while session '" +
                   options_.name + "' was waiting for other ranks",
               machine_now_ns()}};
    return false;
  }

  void seat(Guest& guest, const Packet& hello) {
    if (fault_) {
      send_packet(guest.socket, refusal(fault_->kind, fault_->cause), {}, Deadline(kStaySeconds));
      ++turned_away_;
      return;
    }
    const std::string who =
        "rank " + std::to_string(hello.rank) + " (process " + std::to_string(hello.process) + ")";
    if (hello.rank_count != options_.rank_count)
      return refuse_all("rank 0 says that session '" + options_.name + "' has " +
                        std::to_string(options_.rank_count) + " ranks, " + who + " says " +
                        std::to_string(hello.rank_count) + "; start all ranks with the same count");
    if (hello.rank < 0 || hello.rank >= options_.rank_count)
      return refuse_all(who + " is out of range: session '" + options_.name + "' has ranks 0 to " +
                        std::to_string(options_.rank_count - 1) + ", as rank 0 says");
    const int first = process_at(Rank{hello.rank});
    if (first != 0)
      return refuse_all("rank " + std::to_string(hello.rank) + " of session '" + options_.name +
                        "' was taken twice, by process " + std::to_string(first) + " and by process " +
                        std::to_string(hello.process) +
                        "; give every process its own rank, or another session name");
    guest.rank = Rank{hello.rank};
    seat_of_[*guest.rank] = hello.process;
  }

  /// The process that holds a rank; 0 for none.
  int process_at(Rank rank) const { return rank == options_.rank ? ::getpid() : seat_of_[rank]; }

  void refuse_all(const std::string& text) {
    fault_ = Fault{Packet::Fault::argument, {.reason = text, .at_ns = machine_now_ns()}};
  }

  [[noreturn]] void turn_everyone_away() {
    const Packet packet = refusal(fault_->kind, fault_->cause);
    for (Guest& guest : guests_) {
      if (!guest.process) continue;  // its hello is still on its way: serve() answers it
      send_packet(guest.socket, packet, {}, Deadline(kStaySeconds));
      ++turned_away_;
    }
    // Those who come now learn the reason too, instead of waiting for a rank 0 that has left.
    const bool is_timeout = fault_->kind == Packet::Fault::timeout;
    const Deadline stay(is_timeout ? std::min(kStaySeconds, deadline_.seconds_left()) : kStaySeconds);
    while (turned_away_ < options_.rank_count - 1 && !stay.passed()) serve(stay.milliseconds_left(1000));
    throw_fault(fault_->kind, fault_->cause);
  }

  /// Guests come and go in any order; the seats are in rank order.
  Meeting welcome_everyone() {
    listener_ = Descriptor();  // ranks that come now belong to a later meeting of this name
    Meeting meeting;
    meeting.memory = SessionMemory::create();
    meeting.processes.resize(static_cast<std::size_t>(options_.rank_count));
    meeting.processes[options_.rank] = Descriptor(::fcntl(own_process_.get(), F_DUPFD_CLOEXEC, 0));
    for (Guest& guest : guests_)
      if (guest.rank) meeting.processes[*guest.rank] = std::move(guest.process);
    std::vector<int> descriptors{meeting.memory.get()};
    for (const Descriptor& process : meeting.processes) descriptors.push_back(process.get());
    for (const Guest& guest : guests_)
      if (guest.rank) welcome(guest, descriptors);
    return meeting;
  }

  /// One batch at a time, each acknowledged, since a user may have only so many descriptors in flight.
  void welcome(const Guest& guest, std::span<const int> descriptors) {
    while (!descriptors.empty()) {
      const auto batch = descriptors.first(std::min(descriptors.size(), kDescriptorsPerPacket));
      descriptors = descriptors.subspan(batch.size());
      Packet packet;
      packet.kind = Packet::Kind::welcome;
      packet.count = static_cast<std::int32_t>(descriptors.size());
      std::vector<Descriptor> none;
      // A guest that dies here is already seated: everyone learns it from its process descriptor.
      if (send_packet(guest.socket, packet, batch, deadline_) != Delivery::arrived) return;
      while (receive_packet(guest.socket, packet, none, 1000) == Delivery::nothing)
        if (deadline_.passed()) return;
    }
  }

  const SessionOptions& options_;
  Descriptor listener_;
  const Descriptor& own_process_;
  const Deadline& deadline_;
  std::vector<Guest> guests_;
  std::vector<int> seat_of_;  ///< process id per rank, 0 while it is missing
  std::optional<Fault> fault_;
  int turned_away_ = 0;
};

}  // namespace

std::optional<Meeting> host(const SessionOptions& options, const Descriptor& own_process,
                            const Deadline& deadline) {
  Descriptor listener = listen_at(options.name);
  if (!listener) return std::nullopt;
  return Host(options, std::move(listener), own_process, deadline).hold();
}

}  // namespace hemiola
