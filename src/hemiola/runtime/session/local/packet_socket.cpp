// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/local/packet_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/lost_member.hpp"

namespace hemiola {
namespace {

std::string system_error() {
  return std::strerror(errno);
}

std::string prefix() {
  return "hemiola-" + std::to_string(::getuid()) + "-";
}

/// "#" and a hash (FNV-1a).
std::string hashed(const std::string& session) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : session) hash = (hash ^ c) * 0x100000001b3ull;
  return "#" + std::to_string(hash);
}

/// Abstract addresses start with a zero byte and hold at most 107 more; a longer name is replaced by its
/// hash.
std::string address_name(const std::string& session) {
  const bool fits = prefix().size() + session.size() < sizeof(sockaddr_un::sun_path);
  return prefix() + (fits ? session : hashed(session));
}

struct Address {
  sockaddr_un storage{};
  socklen_t length = 0;
};

Address address_of(const std::string& session) {
  const std::string name = address_name(session);
  Address address;
  address.storage.sun_family = AF_UNIX;
  std::memcpy(address.storage.sun_path + 1, name.data(), name.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Descriptor packet_socket() {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw LostRankError("cannot open a Unix socket to meet the other ranks: " + system_error());
  return socket;
}

std::optional<uid_t> user_behind(const Descriptor& socket) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return std::nullopt;
  return credentials.uid;
}

bool wait_for(const Descriptor& socket, short events, int timeout_ms) {
  pollfd waiting{socket.get(), events, 0};
  return ::poll(&waiting, 1, timeout_ms) > 0;
}

constexpr std::size_t kControlBytes = CMSG_SPACE(kDescriptorsPerPacket * sizeof(int));

void attach(msghdr& message, std::span<const int> descriptors, std::span<std::byte> control) {
  if (descriptors.empty()) return;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
}

void detach(msghdr& message, std::vector<Descriptor>& descriptors) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      descriptors.emplace_back(fd);
    }
  }
}

}  // namespace

std::string short_name(const std::string& session) {
  constexpr std::size_t kWordBytes = 16;
  const bool fits = prefix().size() + session.size() + kWordBytes < sizeof(sockaddr_un::sun_path);
  return fits ? session : hashed(session);
}

Packet refusal(Packet::Fault fault, const Cause& cause) {
  Packet packet;
  packet.kind = Packet::Kind::refusal;
  packet.fault = fault;
  packet.rank = static_cast<std::int32_t>(cause.rank);
  packet.at_ns = cause.at_ns;
  std::strncpy(packet.text, cause.reason.c_str(), sizeof(packet.text) - 1);
  return packet;
}

void throw_fault(Packet::Fault fault, const Cause& cause) {
  if (fault == Packet::Fault::argument) throw ArgumentError(cause.text());
  if (fault == Packet::Fault::mismatch) throw MismatchError(cause.text());
  throw_for(cause, cause.rank, cause.text());
}

void throw_refusal(const Packet& refusal) {
  throw_fault(refusal.fault,
              {Rank{refusal.rank}, refusal.text, refusal.at_ns, refusal.fault == Packet::Fault::timeout});
}

Descriptor listen_at(const std::string& session) {
  Descriptor socket = packet_socket();
  const Address address = address_of(session);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0) {
    if (errno == EADDRINUSE) return {};
    throw LostRankError("cannot open session '" + session + "': " + system_error());
  }
  if (::listen(socket.get(), SOMAXCONN) != 0)
    throw LostRankError("cannot listen in session '" + session + "': " + system_error());
  return socket;
}

Descriptor connect_to(const std::string& session) {
  Descriptor socket = packet_socket();
  const Address address = address_of(session);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0)
    return {};
  const std::optional<uid_t> user = user_behind(socket);
  if (user != ::getuid())
    throw ArgumentError("session '" + session + "' is held by " +
                        (user ? "user " + std::to_string(*user) : "an unknown user") +
                        ", this rank runs as user " + std::to_string(::getuid()) +
                        "; run all ranks as one user or choose another session name");
  return socket;
}

Descriptor accept_from(const Descriptor& listener) {
  Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket && user_behind(socket) != ::getuid()) return {};
  return socket;
}

Delivery send_packet(const Descriptor& socket, const Packet& packet, std::span<const int> descriptors,
                     const Deadline& deadline) {
  iovec body{const_cast<Packet*>(&packet), sizeof(packet)};
  alignas(cmsghdr) std::byte control[kControlBytes] = {};
  msghdr message{};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  attach(message, descriptors, control);
  Pause pause;
  while (::sendmsg(socket.get(), &message, MSG_NOSIGNAL) < 0) {
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) return Delivery::closed;
    if (errno != EAGAIN && errno != EINTR && errno != ETOOMANYREFS && errno != ENOBUFS)
      throw LostRankError("cannot send to a rank of this machine: " + system_error());
    if (deadline.passed()) return Delivery::nothing;
    pause.wait();
  }
  return Delivery::arrived;
}

Delivery receive_packet(const Descriptor& socket, Packet& packet, std::vector<Descriptor>& descriptors,
                        int timeout_ms) {
  if (!wait_for(socket, POLLIN, timeout_ms)) return Delivery::nothing;
  iovec body{&packet, sizeof(packet)};
  alignas(cmsghdr) std::byte control[kControlBytes];
  msghdr message{};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t bytes = ::recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return Delivery::nothing;
  if (bytes <= 0) return Delivery::closed;
  detach(message, descriptors);
  if (message.msg_flags & MSG_CTRUNC)
    throw LostRankError("this process may not open the descriptors that other ranks send (" +
                        std::to_string(kDescriptorsPerPacket) +
                        " at a time); raise its limit with 'ulimit -n'");
  if (bytes != sizeof(packet)) return Delivery::closed;  // not one of ours, or another version: hang up
  packet.text[sizeof(packet.text) - 1] = 0;
  return Delivery::arrived;
}

Delivery await_packet(const Descriptor& socket, Packet& packet, std::vector<Descriptor>& descriptors,
                      const Deadline& deadline) {
  for (;;) {
    const int wait_ms = deadline.milliseconds_left(1 << 20);
    const Delivery delivery = receive_packet(socket, packet, descriptors, wait_ms);
    if (delivery != Delivery::nothing || deadline.passed()) return delivery;
    deadline.check();
  }
}

}  // namespace hemiola
