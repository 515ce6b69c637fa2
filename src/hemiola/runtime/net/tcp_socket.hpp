// SPDX-License-Identifier: Apache-2.0
// Opening TCP sockets: non-blocking, closed by exec, not there in forked children, each small message sent at once. No TCP_USER_TIMEOUT: a peer that
// is late to read closes its window, and the kernel would abort the connection to a rank that lives.
#pragma once

#include <string>

#include "hemiola/base/descriptor.hpp"
#include "hemiola/runtime/net/endpoint.hpp"

namespace hemiola {

/// Listens at the address of `at`, on its port, or, where that is 0, on the first free one of `ports`. Where `at` is any
/// address and the host has no version 6, at those of version 4. Throws ArgumentError that names address and ports.
Descriptor listen_at(const Endpoint& at, const PortRange& ports = {});

/// The next guest, or nothing, and then why: EAGAIN where nobody is there, EMFILE and the like where there is no room.
struct Accepted {
  Descriptor socket;
  Endpoint from;
  int error = 0;
};
Accepted accept_guest(const Descriptor& listener);

/// A connection that is being made, or why it cannot be.
struct Attempt {
  Descriptor socket;
  int error = 0;
};
Attempt start_connecting(const Endpoint& to);

enum class Reached { not_yet, yes, no };
/// Whether a connection that was started has been made; `error` says why not.
Reached has_connected(const Descriptor& socket, int* error);

/// Whether there is no socket since this process, or its system, has no room for one more; and how that is said.
bool is_for_lack_of_room(int error);
std::string lack_of_room(const std::string& of_what, int error);

/// Where a socket listens, or is bound.
Endpoint local_endpoint(const Descriptor& socket);
/// Of the other end.
Endpoint remote_endpoint(const Descriptor& socket);

}  // namespace hemiola
