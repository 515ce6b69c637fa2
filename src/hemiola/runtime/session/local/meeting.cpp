// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/local/meeting.hpp"

#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

#include "hemiola/base/error.hpp"
#include "hemiola/base/refusal.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/session/local/machine_clock.hpp"
#include "hemiola/runtime/session/local/packet_socket.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

Descriptor own_process_descriptor() {
  Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!process)
    throw LostRankError(
        refusal("no process descriptor (pidfd_open), by which ranks learn of each other's death", errno));
  return process;
}

[[noreturn]] void throw_for_rank_zero(const std::string& did, bool is_absence) {
  const Cause cause{Rank{0}, did, machine_now_ns(), is_absence};
  throw_for(cause, Rank{0}, cause.text());
}

/// The time in which rank 0 names the absent ranks, or says that none is absent any more.
constexpr double kLastAnswer_s = 1.0;

/// Asks rank 0, which knows better than we do, whom the meeting lacks.
void ask_who_is_missing(const SessionOptions& options, const Descriptor& socket) {
  Packet packet;
  packet.kind = Packet::Kind::who_is_missing;
  std::strncpy(packet.text, format_seconds(options.timeout_s).c_str(), sizeof(packet.text) - 1);
  send_packet(socket, packet, {}, Deadline(kLastAnswer_s));
}

[[noreturn]] void host_has_left(const SessionOptions& options) {
  throw_for_rank_zero("died while others were joining session '" + options.name + "'", false);
}

/// Takes descriptors in batches until rank 0 says that none remain: the memory first, then every rank's
/// process.
Meeting take_seat(const SessionOptions& options, const Descriptor& socket, const Deadline& deadline) {
  std::vector<Descriptor> descriptors;
  std::optional<Deadline> last;
  for (Packet packet;;) {
    const int wait_ms = (last ? *last : deadline).milliseconds_left(1 << 20);
    const Delivery delivery = receive_packet(socket, packet, descriptors, wait_ms);
    deadline.check();
    if (delivery == Delivery::closed) host_has_left(options);
    if (delivery == Delivery::nothing && last && last->passed())
      throw_for_rank_zero("stands still: it does not say who has not come to session '" + options.name +
                              "' within " + format_seconds(options.timeout_s),
                          true);
    if (delivery == Delivery::nothing && deadline.passed() && !last) {
      ask_who_is_missing(options, socket);
      last.emplace(kLastAnswer_s);
    }
    if (delivery == Delivery::nothing) continue;
    if (packet.kind == Packet::Kind::refusal) throw_refusal(packet);
    if (packet.kind != Packet::Kind::welcome) continue;
    const bool is_last = packet.count == 0;
    packet.kind = Packet::Kind::received;
    if (send_packet(socket, packet, {}, deadline) == Delivery::closed && !is_last) host_has_left(options);
    if (is_last) break;
  }
  if (descriptors.size() != static_cast<std::size_t>(options.rank_count) + 1)
    throw_for_rank_zero("has sent what no rank sends: " + std::to_string(descriptors.size()) +
                            " descriptors to a rank of " + std::to_string(options.rank_count),
                        false);
  Meeting meeting;
  meeting.memory = std::move(descriptors.front());
  meeting.processes.assign(std::make_move_iterator(descriptors.begin() + 1),
                           std::make_move_iterator(descriptors.end()));
  return meeting;
}

}  // namespace

std::optional<Meeting> visit(const SessionOptions& options, const Descriptor& own_process,
                             const Deadline& deadline) {
  const Descriptor socket = connect_to(options.name);
  if (!socket) return std::nullopt;
  Packet hello;
  hello.kind = Packet::Kind::hello;
  hello.rank = options.rank;
  hello.rank_count = options.rank_count;
  hello.process = ::getpid();
  const int process = own_process.get();
  if (send_packet(socket, hello, {&process, 1}, deadline) != Delivery::arrived) return std::nullopt;
  Packet greeting;
  std::vector<Descriptor> ignored;
  if (await_packet(socket, greeting, ignored, deadline) != Delivery::arrived) return std::nullopt;
  if (greeting.kind == Packet::Kind::refusal) throw_refusal(greeting);
  return take_seat(options, socket, deadline);
}

Meeting meet(const SessionOptions& options) {
  const Deadline deadline(options.timeout_s, options.check);
  // A rank alone has nobody to tell of its death, and runs where there are no such descriptors, as under valgrind.
  Descriptor own_process = options.rank_count == 1 ? Descriptor() : own_process_descriptor();
  Pause pause;
  do {
    if (options.rank == Rank{0})
      if (std::optional<Meeting> meeting = host(options, own_process, deadline)) return std::move(*meeting);
    if (std::optional<Meeting> meeting = visit(options, own_process, deadline)) return std::move(*meeting);
    pause.wait();
    deadline.check();
  } while (!deadline.passed());
  throw_for_rank_zero("of " + std::to_string(options.rank_count) + " did not join session '" + options.name +
                          "' within " + format_seconds(options.timeout_s) +
                          "; is it running on this machine, as this user, with the same session name?",
                      true);
}

}  // namespace hemiola
