// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/net/endpoint.hpp"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

std::optional<std::uint16_t> port_of(std::string_view digits) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return port;
}

struct HostAndPort {
  std::string host;
  std::string port;  ///< empty where none is said
};

/// A colon parts them, unless there are several and no brackets: then it is an address of version 6.
HostAndPort split(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return {std::string(text), ""};
    const std::string_view rest = text.substr(close + 1);
    return {std::string(text.substr(1, close - 1)), std::string(rest.empty() ? rest : rest.substr(1))};
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos)
    return {std::string(text), ""};
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

[[noreturn]] void refuse(std::string_view expected, std::string_view found) {
  throw ArgumentError("expected " + std::string(expected) + ", found '" + std::string(found) + "'");
}

constexpr std::array<std::uint8_t, 12> kVersion4Mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

Endpoint Endpoint::parse(std::string_view text) {
  const HostAndPort parts = split(text);
  Endpoint endpoint;
  endpoint.is_ipv6_ = parts.host.find(':') != std::string::npos;
  const std::optional<std::uint16_t> port = parts.port.empty() ? std::uint16_t{0} : port_of(parts.port);
  if (!port ||
      ::inet_pton(endpoint.is_ipv6_ ? AF_INET6 : AF_INET, parts.host.c_str(), endpoint.address_.data()) != 1)
    refuse("an address such as 10.0.0.1:4000 or [::1]:4000", text);
  endpoint.port_ = *port;
  return endpoint;
}

Endpoint Endpoint::of(const SocketAddress& address) {
  Endpoint endpoint;
  if (address.storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.storage);
    std::memcpy(endpoint.address_.data(), &v4.sin_addr, sizeof v4.sin_addr);
    endpoint.port_ = ntohs(v4.sin_port);
  } else if (address.storage.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
    endpoint.port_ = ntohs(v6.sin6_port);
    endpoint.is_ipv6_ = !IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
    const std::uint8_t* const from = v6.sin6_addr.s6_addr + (endpoint.is_ipv6_ ? 0 : kVersion4Mapped.size());
    std::copy_n(from, endpoint.is_ipv6_ ? 16 : 4, endpoint.address_.begin());
  }
  return endpoint;
}

Endpoint Endpoint::any() {
  Endpoint endpoint;
  endpoint.is_ipv6_ = true;
  return endpoint;
}

Endpoint Endpoint::from_bytes(std::span<const std::byte, kBytes> bytes) {
  Endpoint endpoint;
  const auto version = std::to_integer<int>(bytes[0]);
  if ((version != 4 && version != 6) || bytes[1] != std::byte{0})
    throw FormatError("expected an address of version 4 or 6, found version " + std::to_string(version));
  endpoint.is_ipv6_ = version == 6;
  std::memcpy(&endpoint.port_, bytes.data() + 2, sizeof endpoint.port_);
  std::memcpy(endpoint.address_.data(), bytes.data() + 4, endpoint.address_.size());
  return endpoint;
}

std::array<std::byte, Endpoint::kBytes> Endpoint::bytes() const {
  std::array<std::byte, kBytes> bytes{};
  bytes[0] = std::byte(is_ipv6_ ? 6 : 4);
  std::memcpy(bytes.data() + 2, &port_, sizeof port_);
  std::memcpy(bytes.data() + 4, address_.data(), address_.size());
  return bytes;
}

std::string Endpoint::address() const {
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(is_ipv6_ ? AF_INET6 : AF_INET, address_.data(), text, sizeof text);
  return text;
}

std::string Endpoint::text() const {
  return (is_ipv6_ ? "[" + address() + "]" : address()) + ":" + std::to_string(port_);
}

SocketAddress Endpoint::to_socket() const {
  SocketAddress address;
  if (is_ipv6_) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port_);
    std::memcpy(&v6.sin6_addr, address_.data(), sizeof v6.sin6_addr);
    address.length = sizeof v6;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port_);
    std::memcpy(&v4.sin_addr, address_.data(), sizeof v4.sin_addr);
    address.length = sizeof v4;
  }
  return address;
}

Endpoint Endpoint::with_port(std::uint16_t port) const {
  Endpoint other = *this;
  other.port_ = port;
  return other;
}

bool Endpoint::is_any() const {
  return std::ranges::all_of(address_, [](std::uint8_t byte) { return byte == 0; });
}

std::vector<Endpoint> resolve(std::string_view host_and_port) {
  const HostAndPort parts = split(host_and_port);
  if (parts.host.empty() || parts.port.empty() || !port_of(parts.port))
    refuse("a host and a port, such as node7:4000", host_and_port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &found); error != 0)
    throw ArgumentError("the host of '" + std::string(host_and_port) +
                        "' is not known here: " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::vector<Endpoint> endpoints;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    SocketAddress address;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    endpoints.push_back(Endpoint::of(address));
  }
  return endpoints;
}

PortRange PortRange::parse(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = port_of(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : port_of(text.substr(dash + 1));
  const bool is_range = first && last && *first <= *last && (*first > 0 || *last == 0);
  if (!is_range) refuse("ports such as 20000-20100, or 0 for any", text);
  return {*first, *last};
}

std::string PortRange::text() const {
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

}  // namespace hemiola
