// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/net/tcp_socket.hpp"

#include <netinet/tcp.h>
#include <poll.h>

#include <cerrno>
#include <cstring>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

void set(const Descriptor& socket, int level, int option, int value) {
  ::setsockopt(socket.get(), level, option, &value, sizeof value);
}

Descriptor open_socket(const Endpoint& endpoint) {
  Descriptor socket(
      ::socket(endpoint.is_ipv6() ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return socket;
  socket.keep_from_children();
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  return socket;
}

/// Empty, with errno set, where it cannot be.
Descriptor try_to_listen(const Endpoint& at) {
  Descriptor socket = open_socket(at);
  if (!socket) return {};
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);  // connections that have just ended do not keep the port
  if (at.is_ipv6()) set(socket, IPPROTO_IPV6, IPV6_V6ONLY, at.is_any() ? 0 : 1);
  const SocketAddress address = at.to_socket();
  if (::bind(socket.get(), address.get(), address.length) != 0) return {};
  // The queue holds those who come while this rank computes: as many as the system allows.
  if (::listen(socket.get(), 1 << 16) != 0) return {};
  return socket;
}

[[noreturn]] void refuse_to_listen(const Endpoint& at, const PortRange& ports, int error) {
  const std::string where = at.is_any() ? "any address" : at.address();
  const bool has_choice = at.port() == 0 && ports.first != ports.last;
  const int port = at.port() != 0 ? at.port() : ports.first;
  const std::string which = has_choice ? "any of the ports " + ports.text() : "port " + std::to_string(port);
  const std::string advice = error == EADDRINUSE
                                 ? "another process listens there; end it, or choose another port"
                                 : "choose other ports, or an address that this host has";
  throw ArgumentError("cannot listen at " + where + " on " + which + ": " + std::strerror(error) + "; " +
                      advice);
}

}  // namespace

Descriptor listen_at(const Endpoint& at, const PortRange& ports) {
  const PortRange choice = at.port() != 0 ? PortRange{at.port(), at.port()} : ports;
  for (int port = choice.first; port <= choice.last; ++port) {
    if (Descriptor socket = try_to_listen(at.with_port(static_cast<std::uint16_t>(port)))) return socket;
    if (errno == EAFNOSUPPORT && at == Endpoint::any().with_port(at.port()))
      return listen_at(Endpoint::parse("0.0.0.0").with_port(at.port()), ports);
    if (errno != EADDRINUSE && errno != EACCES) break;
  }
  refuse_to_listen(at, ports, errno);
}

Accepted accept_guest(const Descriptor& listener) {
  SocketAddress from;
  Descriptor socket(::accept4(listener.get(), from.get(), &from.length, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return {{}, {}, errno};
  socket.keep_from_children();
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  return {std::move(socket), Endpoint::of(from), 0};
}

Attempt start_connecting(const Endpoint& to) {
  Descriptor socket = open_socket(to);
  if (!socket) return {{}, errno};
  const SocketAddress address = to.to_socket();
  if (::connect(socket.get(), address.get(), address.length) != 0 && errno != EINPROGRESS) return {{}, errno};
  return {std::move(socket), 0};
}

Reached has_connected(const Descriptor& socket, int* error) {
  pollfd waiting{socket.get(), POLLOUT, 0};
  if (::poll(&waiting, 1, 0) <= 0) return Reached::not_yet;
  socklen_t length = sizeof *error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, error, &length) != 0) *error = errno;
  return *error == 0 ? Reached::yes : Reached::no;
}

bool is_for_lack_of_room(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

std::string lack_of_room(const std::string& of_what, int error) {
  return "no room for " + of_what + " (" + std::strerror(error) + ")" + kRaiseFileLimit;
}

Endpoint local_endpoint(const Descriptor& socket) {
  SocketAddress address;
  ::getsockname(socket.get(), address.get(), &address.length);
  return Endpoint::of(address);
}

Endpoint remote_endpoint(const Descriptor& socket) {
  SocketAddress address;
  ::getpeername(socket.get(), address.get(), &address.length);
  return Endpoint::of(address);
}

}  // namespace hemiola
