// SPDX-License-Identifier: Apache-2.0
// A NIC of this machine that is cut, for tests: an address of the loopback device stands for one, and a filter on its sockets
// drops all that comes. As over a pulled cable, nobody is told.
#pragma once

#include <linux/filter.h>
#include <sys/socket.h>

#include <array>

#include "hemiola/runtime/net/endpoint.hpp"

namespace hemiola::testing {

inline const std::array<Endpoint, 2> kNics{Endpoint::parse("127.0.0.1"), Endpoint::parse("127.0.0.2")};

/// The NIC over which a connection goes: who calls the second address has the first himself. -1: none of ours.
inline int nic_of(int descriptor) {
  SocketAddress here, there;
  if (::getpeername(descriptor, there.get(), &there.length) != 0) return -1;
  if (::getsockname(descriptor, here.get(), &here.length) != 0) return -1;
  const Endpoint ends[] = {Endpoint::of(here).with_port(0), Endpoint::of(there).with_port(0)};
  if (ends[0] == kNics[1] || ends[1] == kNics[1]) return 1;
  return ends[0] == kNics[0] ? 0 : -1;
}

/// Drops all that comes from now on over the present connections of a NIC; how many these are.
inline int cut(int nic) {
  sock_filter drop{BPF_RET | BPF_K, 0, 0, 0};
  const sock_fprog program{1, &drop};
  int count = 0;
  for (int descriptor = 0; descriptor < 1024; ++descriptor)
    if (nic_of(descriptor) == nic &&
        ::setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0)
      ++count;
  return count;
}

}  // namespace hemiola::testing
