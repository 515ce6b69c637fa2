#include "hemiola/runtime/session/local/meeting.hpp"

#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

#include "hemiola/base/error.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/session/local/packet_socket.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

Descriptor own_process_descriptor() {
  Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!process)
    throw LostRankError(std::string("this kernel gives no process descriptor (pidfd_open: ") +
                        std::strerror(errno) +
                        "), by which ranks learn of each other's death; Linux 5.3 or newer is needed");
  return process;
}

std::string nobody_came(const SessionOptions& options) {
  return "rank " + std::to_string(options.rank) + " of " + std::to_string(options.rank_count) +
         " found no rank 0 in session '" + options.name + "' within " + format_seconds(options.timeout_s) +
         "; is it running on this machine, as this user, with the same session name?";
}

/// Asks rank 0, which knows better than we do, whom the meeting lacks.
[[noreturn]] void give_up(const SessionOptions& options, const Descriptor& socket) {
  Packet packet;
  packet.kind = Packet::Kind::who_is_missing;
  const Deadline soon(1.0);
  send_packet(socket, packet, {}, soon);
  std::vector<Descriptor> ignored;
  if (receive_packet(socket, packet, ignored, soon.milliseconds_left(1000)) == Delivery::arrived &&
      packet.kind == Packet::Kind::refusal)
    throw_fault(packet.fault, packet.text, Rank{packet.rank});
  throw TimeoutError("rank " + std::to_string(options.rank) + " met rank 0 in session '" + options.name +
                     "', but not all ranks came within " + format_seconds(options.timeout_s));
}

[[noreturn]] void host_has_left(const SessionOptions& options) {
  throw LostMemberError("rank 0 of session '" + options.name + "' died while rank " +
                            std::to_string(options.rank) + " and others were joining",
                        Rank{0}, Rank{0});
}

/// Takes descriptors in batches until rank 0 says that none remain: the memory first, then every rank's
/// process.
Meeting take_seat(const SessionOptions& options, const Descriptor& socket, const Deadline& deadline) {
  std::vector<Descriptor> descriptors;
  for (Packet packet;;) {
    const Delivery delivery =
        receive_packet(socket, packet, descriptors, deadline.milliseconds_left(1 << 20));
    deadline.check();
    if (delivery == Delivery::closed) host_has_left(options);
    if (delivery == Delivery::nothing && deadline.passed()) give_up(options, socket);
    if (delivery == Delivery::nothing) continue;
    if (packet.kind == Packet::Kind::refusal) throw_fault(packet.fault, packet.text, Rank{packet.rank});
    if (packet.kind != Packet::Kind::welcome) continue;
    const bool last = packet.count == 0;
    packet.kind = Packet::Kind::received;
    if (send_packet(socket, packet, {}, deadline) == Delivery::closed && !last) host_has_left(options);
    if (last) break;
  }
  HEMIOLA_CHECK(descriptors.size() == static_cast<std::size_t>(options.rank_count) + 1,
                "a descriptor was lost");
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
  Delivery delivery;
  while ((delivery = receive_packet(socket, greeting, ignored, deadline.milliseconds_left(1 << 20))) ==
             Delivery::nothing &&
         !deadline.passed())
    deadline.check();
  if (delivery != Delivery::arrived) return std::nullopt;
  if (greeting.kind == Packet::Kind::refusal) throw_fault(greeting.fault, greeting.text, Rank{greeting.rank});
  return take_seat(options, socket, deadline);
}

Meeting meet(const SessionOptions& options) {
  const Deadline deadline(options.timeout_s, options.check);
  Descriptor own_process = own_process_descriptor();
  Pause pause;
  do {
    if (options.rank == Rank{0})
      if (std::optional<Meeting> meeting = host(options, own_process, deadline)) return std::move(*meeting);
    if (std::optional<Meeting> meeting = visit(options, own_process, deadline)) return std::move(*meeting);
    pause.wait();
    deadline.check();
  } while (!deadline.passed());
  throw TimeoutError(nobody_came(options));
}

}  // namespace hemiola
