// SPDX-License-Identifier: Apache-2.0
// Where somebody listens: an address of the Internet Protocol, version 4 or 6, and a port. A value.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hemiola {

/// As the system's calls want it.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

class Endpoint {
 public:
  static constexpr std::size_t kBytes = 20;

  /// "10.0.0.1:4000" or "[::1]:4000"; without a port, "10.0.0.1" and "::1", it is 0. No names: see `resolve`. Throws
  /// ArgumentError.
  static Endpoint parse(std::string_view text);
  /// An address of version 4 that came through a socket of version 6 is one of version 4.
  static Endpoint of(const SocketAddress& address);
  /// Every address of this host, of both versions where it has them.
  static Endpoint any();
  /// Throws a FormatError for bytes that `bytes` has not written.
  static Endpoint from_bytes(std::span<const std::byte, kBytes> bytes);

  std::array<std::byte, kBytes> bytes() const;
  std::string text() const;
  /// Without the port, and without brackets.
  std::string address() const;
  SocketAddress to_socket() const;

  std::uint16_t port() const { return port_; }
  Endpoint with_port(std::uint16_t port) const;

  bool is_ipv6() const { return is_ipv6_; }
  /// Stands for every address of a host, so nobody can connect to it.
  bool is_any() const;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;

 private:
  bool is_ipv6_ = false;
  std::uint16_t port_ = 0;
  std::array<std::uint8_t, 16> address_{};  ///< version 4: the first four
};

/// The addresses behind "node7:4000", "10.0.0.1:4000" or "[::1]:4000", in the system's order of preference. Asks the
/// system's name service, which may take seconds. Throws ArgumentError where there is none.
std::vector<Endpoint> resolve(std::string_view host_and_port);

/// Ports from which one may be chosen, both ends included; all zero: the system chooses.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;

  /// "20000-20100", "20000", or "0" for any. Throws ArgumentError.
  static PortRange parse(std::string_view text);
  std::string text() const;
};

}  // namespace hemiola
