// SPDX-License-Identifier: Apache-2.0
// The number of a request of a wire between many peers: the peer, the direction, and the message's number between the
// two.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// Of messages up to 2^kNumberBits between two; the other bits of 64, but for one, tell peers apart.
template <int kNumberBits>
class PeerRequest {
 public:
  static Request outgoing(Rank peer, std::uint64_t number) { return named(peer, 0, number); }
  static Request incoming(Rank peer, std::uint64_t number) { return named(peer, kIncoming, number); }

  explicit PeerRequest(Request request) : bits_(static_cast<std::uint64_t>(request)) {}

  std::size_t peer() const { return bits_ >> kPeerShift; }
  bool is_incoming() const { return (bits_ & kIncoming) != 0; }
  std::uint64_t number() const { return bits_ & (kIncoming - 1); }

 private:
  static constexpr int kPeerShift = kNumberBits + 1;
  static constexpr std::uint64_t kIncoming = std::uint64_t{1} << kNumberBits;

  static Request named(Rank peer, std::uint64_t direction, std::uint64_t number) {
    return Request{static_cast<std::uint64_t>(peer) << kPeerShift | direction | number};
  }

  std::uint64_t bits_;
};

}  // namespace hemiola
