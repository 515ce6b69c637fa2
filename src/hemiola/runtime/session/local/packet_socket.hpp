// SPDX-License-Identifier: Apache-2.0
// Packets with file descriptors between processes of one user on one machine: abstract Unix sockets, which
// need no file and vanish with their owner. Every connection is checked to be the same user's.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/descriptor.hpp"
#include "hemiola/base/index.hpp"
#include "hemiola/runtime/session/cause.hpp"

namespace hemiola {

/// A packet between ranks that meet. It is plain data: both ends run the same build.
struct Packet {
  enum class Kind : std::uint32_t {
    greeting = 0x48454d31,  ///< rank 0 → guest: I am here (the value doubles as protocol version)
    hello,                  ///< guest → rank 0: my rank, my rank_count; carries the guest's pidfd
    who_is_missing,         ///< guest → rank 0: I give up after `text`, whom do we lack?
    welcome,    ///< rank 0 → guest: carries a batch of descriptors; `count` is how many remain after it
    received,   ///< guest → rank 0: the batch has arrived
    refusal,    ///< rank 0 → guest: `fault` and `text` say why
    knock,      ///< newcomer → lobby: its version is `text`
    admission,  ///< lobby → newcomer: carries the memory and the invitation; `rank` is the newcomer's number
    question,   ///< anybody → lobby: how is the job? `text` is the asker's version
    status,     ///< lobby → asker: carries the answer
  };
  enum class Fault : std::uint32_t { argument, lost_rank, timeout, mismatch };

  Kind kind = Kind::greeting;
  Fault fault = Fault::argument;
  std::int32_t rank = 0;
  std::int32_t rank_count = 0;
  std::int32_t process = 0;
  std::int32_t count = 0;
  std::int64_t at_ns = 0;  ///< of a refusal: when its reason was noticed
  char text[1024] = {};    ///< of a refusal: its reason; it follows the rank's name if it blames one
};

/// Why there will be no meeting. The cause of an argument's fault is a whole sentence.
Packet refusal(Packet::Fault fault, const Cause& cause);
[[noreturn]] void throw_fault(Packet::Fault fault, const Cause& cause);
[[noreturn]] void throw_refusal(const Packet& refusal);

/// A name as it is, or a short one of its own where an address has no room for it and a word behind it.
std::string short_name(const std::string& session);

/// A listening socket of that name; empty when the name is taken. Throws LostRankError when the system
/// refuses.
Descriptor listen_at(const std::string& session);
/// A connection to the listener there; empty when there is none. Throws ArgumentError when it is another user's.
Descriptor connect_to(const std::string& session);
/// The next guest; empty when there is none now, or when it was another user's process (which is hung up on).
Descriptor accept_from(const Descriptor& listener);

enum class Delivery { arrived, closed, nothing };

/// Sends a packet with descriptors. `closed` when the peer is gone. Waits while too many descriptors are in
/// flight.
Delivery send_packet(const Descriptor& socket, const Packet& packet, std::span<const int> descriptors,
                     const Deadline& deadline);
/// Receives a packet, appending its descriptors; waits up to `timeout_ms`.
Delivery receive_packet(const Descriptor& socket, Packet& packet, std::vector<Descriptor>& descriptors,
                        int timeout_ms);

/// Receives as receive_packet does, and waits until the deadline, whose check it hears.
Delivery await_packet(const Descriptor& socket, Packet& packet, std::vector<Descriptor>& descriptors,
                      const Deadline& deadline);

/// Most descriptors that one packet carries (the kernel's limit is 253).
inline constexpr std::size_t kDescriptorsPerPacket = 128;

}  // namespace hemiola
