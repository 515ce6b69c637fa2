// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/local/lobby.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/refusal.hpp"
#include "hemiola/base/started_thread.hpp"
#include "hemiola/base/units.hpp"
#include "hemiola/runtime/session/local/machine_clock.hpp"
#include "hemiola/runtime/session/local/packet_socket.hpp"

namespace hemiola {
namespace {

/// How often a new lobby looks whether the one before it has closed.
constexpr int kBetweenLooks_ms = 20;
/// How long a newcomer may take to say why it has come, and to hear the answer.
constexpr double kConversation_s = 1.0;

std::string door_of(const std::string& session) {
  return short_name(session) + " lobby";
}

/// A text as a file in memory: descriptors carry what a packet cannot hold.
Descriptor written(const std::string& text) {
  Descriptor file(::memfd_create("hemiola lobby", MFD_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw LostRankError(refusal("cannot write what a job tells those at its door (memfd_create)", errno));
  return file;
}

std::string read_from(const Descriptor& file) {
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::max<off_t>(size, 0)), 0);
  if (size < 0 || ::pread(file.get(), text.data(), text.size(), 0) != size)
    throw LostRankError(refusal("cannot read what the job tells those at its door", errno));
  return text;
}

}  // namespace

Lobby::Lobby(std::string session, const Descriptor& memory, LobbyTerms terms, TakeNumber take_number)
    : session_(std::move(session)),
      memory_(memory),
      terms_(std::move(terms)),
      status_(terms_.status),
      take_number_(std::move(take_number)),
      closing_(::eventfd(0, EFD_CLOEXEC)) {
  if (!closing_) throw LostRankError(refusal("cannot open the job's lobby (eventfd)", errno));
  thread_ = started_thread("the job's lobby", [this] { run(); });
}

/// A forked child has no such thread.
Lobby::~Lobby() {
  if (!home_.is_here()) {
    thread_.detach();
    return;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t sent = ::write(closing_.get(), &one, sizeof one);
  thread_.join();
}

/// An error of the system costs one newcomer its way in. It tries again.
void Lobby::run() {
  Descriptor listener;
  for (;;) {
    if (!listener) {
      try {
        listener = listen_at(door_of(session_));
      } catch (const Error&) {
      }
    }
    std::array<pollfd, 2> waiting{{{closing_.get(), POLLIN, 0}, {listener.get(), POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), listener ? -1 : kBetweenLooks_ms) < 0 && errno != EINTR)
      return;
    if (waiting[0].revents != 0) return;
    if (waiting[1].revents == 0) continue;
    try {
      receive_guest(listener);
    } catch (const Error&) {
    }
  }
}

void Lobby::tell(std::string status) {
  const std::lock_guard lock(status_mutex_);
  status_ = std::move(status);
}

std::string Lobby::status() {
  const std::lock_guard lock(status_mutex_);
  return status_;
}

void Lobby::receive_guest(const Descriptor& listener) {
  const Descriptor guest = accept_from(listener);
  if (!guest) return;
  Packet packet;
  std::vector<Descriptor> none;
  const Deadline deadline(kConversation_s);
  if (await_packet(guest, packet, none, deadline) != Delivery::arrived ||
      (packet.kind != Packet::Kind::knock && packet.kind != Packet::Kind::question))
    return;
  const auto refuse = [&](Packet::Fault fault, std::string why) {
    const Cause cause{.reason = std::move(why), .at_ns = machine_now_ns()};
    send_packet(guest, refusal(fault, cause), {}, deadline);
  };
  if (packet.text != terms_.version)
    return refuse(Packet::Fault::mismatch, "job '" + session_ + "' runs hemiola " + terms_.version +
                                               ", this process hemiola " + packet.text +
                                               "; install the job's version");
  if (packet.kind == Packet::Kind::question) {
    const Descriptor answer = written(status());
    packet.kind = Packet::Kind::status;
    const std::array<int, 1> descriptors{answer.get()};
    send_packet(guest, packet, descriptors, deadline);
    return;
  }
  if (!terms_.refusal.empty())
    return refuse(Packet::Fault::argument, "job '" + session_ + "' lets nobody in: " + terms_.refusal);
  const std::optional<Rank> number = take_number_();
  if (!number)
    return refuse(Packet::Fault::argument,
                  "job '" + session_ + "' has had as many processes as it may; start a new one");
  const Descriptor invitation = written(terms_.invitation);
  packet.kind = Packet::Kind::admission;
  packet.rank = static_cast<std::int32_t>(*number);
  const std::array<int, 2> descriptors{memory_.get(), invitation.get()};
  send_packet(guest, packet, descriptors, deadline);
}

bool Lobby::is_open(const std::string& session) {
  return static_cast<bool>(connect_to(door_of(session)));
}

Admission Lobby::enter(const std::string& session, const std::string& version, const Deadline& deadline) {
  for (Pause pause(20'000, 0);; pause.wait()) {
    deadline.check();
    if (deadline.passed())
      throw TimeoutError("join: no job '" + session + "' has let this process in within " +
                         format_seconds(deadline.seconds()) +
                         "; is it running on this machine, as this user, under this name?");
    const Descriptor socket = connect_to(door_of(session));
    if (!socket) continue;
    Packet packet;
    packet.kind = Packet::Kind::knock;
    std::strncpy(packet.text, version.c_str(), sizeof(packet.text) - 1);
    if (send_packet(socket, packet, {}, deadline) != Delivery::arrived) continue;
    std::vector<Descriptor> descriptors;
    if (await_packet(socket, packet, descriptors, deadline) != Delivery::arrived) continue;
    if (packet.kind == Packet::Kind::refusal) throw_refusal(packet);
    if (packet.kind != Packet::Kind::admission || descriptors.size() != 2) continue;
    return {std::move(descriptors[0]), Rank{packet.rank}, read_from(descriptors[1])};
  }
}

std::optional<std::string> Lobby::status_of(const std::string& session, const std::string& version,
                                            const Deadline& deadline) {
  const Descriptor socket = connect_to(door_of(session));
  if (!socket) return std::nullopt;
  Packet packet;
  packet.kind = Packet::Kind::question;
  std::strncpy(packet.text, version.c_str(), sizeof(packet.text) - 1);
  if (send_packet(socket, packet, {}, deadline) != Delivery::arrived) return std::nullopt;
  std::vector<Descriptor> descriptors;
  const Delivery delivery = await_packet(socket, packet, descriptors, deadline);
  if (delivery == Delivery::nothing)
    throw TimeoutError("job '" + session + "' has not answered within " + format_seconds(deadline.seconds()) +
                       "; its first rank is stopped, or has no time to");
  if (delivery == Delivery::closed) return std::nullopt;
  if (packet.kind == Packet::Kind::refusal) throw_refusal(packet);
  if (packet.kind != Packet::Kind::status || descriptors.size() != 1) return std::nullopt;
  return read_from(descriptors[0]);
}

}  // namespace hemiola
