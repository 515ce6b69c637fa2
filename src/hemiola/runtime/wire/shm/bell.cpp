// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/shm/bell.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/net/random_bytes.hpp"

namespace hemiola {
namespace {

struct Address {
  sockaddr_un storage{};
  socklen_t length = 0;
};

/// In the abstract namespace, which needs no file: it begins with a zero byte.
Address address_of(std::uint64_t name) {
  Address address;
  address.storage.sun_family = AF_UNIX;
  const int length = std::snprintf(address.storage.sun_path + 1, sizeof address.storage.sun_path - 1,
                                   "hemiola-bell-%016llx", static_cast<unsigned long long>(name));
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + std::size_t(length));
  return address;
}

Descriptor datagram_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

std::uint64_t unlikely_number() {
  std::uint64_t number = 0;
  while (number == 0) fill_randomly(std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

}  // namespace

Bell::Bell() : name_(unlikely_number()), socket_(datagram_socket()) {
  const Address address = address_of(name_);
  if (!socket_ ||
      ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0)
    throw LostRankError(std::string("cannot wait for ranks of this host and of others at once: ") +
                        std::strerror(errno));
}

void Bell::silence() {
  char rings[8];
  while (::recv(socket_.get(), rings, sizeof rings, 0) > 0) {
  }
}

/// Where its queue is full it can be read already; where nobody has that name any more, nobody sleeps.
void Bell::ring(std::uint64_t name) {
  static const Descriptor from = datagram_socket();
  const Address address = address_of(name);
  const char one = 1;
  ::sendto(from.get(), &one, sizeof one, MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address.storage),
           address.length);
}

}  // namespace hemiola
