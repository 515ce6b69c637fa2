// SPDX-License-Identifier: Apache-2.0
// Several wires as one: each pair of ranks has one of them. A waiting rank waits for all at once.
#pragma once

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

class RoutedWire final : public Wire {
 public:
  struct Inner {
    std::unique_ptr<Wire> wire;
    std::vector<Rank> ranks;  ///< that it joins, by their numbers here; the index is their number there
    int port = 0;             ///< by which it leaves this rank
  };

  /// `route` says, by rank, which of the inner wires leads there, or -1 for this rank itself. Both ends of a pair say the
  /// same kind.
  RoutedWire(std::vector<Inner> inner, std::vector<int> route);

  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source source) override;
  Request receive(Rank src, const Landing& landing, std::size_t capacity) override;
  bool progress() override;
  bool done(Request request) const override;
  std::optional<ForeignMessage> mismatch() const override;
  std::vector<LostRank> lost() const override;
  void wait(int timeout_us) override;
  void reset(std::uint64_t epoch) override;
  std::string carrier(Rank peer) const override;
  Payload payload(Rank peer) const override;
  bool watch_port(ArrivalListener* listener, double port_bytes_per_ns) override;
  const WireTraits& traits() const override { return traits_; }

 private:
  /// Passes on an inner wire's news, by the ranks' numbers here.
  class Relay;
  struct Way {
    int wire = -1;
    Rank there{0};
  };

  const Way& way_to(Rank rank) const;
  template <typename Call>
  bool named(const Inner& each, const Call& call);
  Wire& wire_of(const Way& way) { return *inner_[static_cast<std::size_t>(way.wire)].wire; }

  std::vector<Inner> inner_;
  std::vector<Way> ways_;         ///< by rank
  std::vector<int> descriptors_;  ///< of the inner wires
  std::vector<pollfd> polled_;
  std::vector<std::unique_ptr<ArrivalListener>> relays_;
  WireTraits traits_;
  int calls_ = 0;  ///< of progress since the last wait
};

}  // namespace hemiola
