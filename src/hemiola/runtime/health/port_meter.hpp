// SPDX-License-Identifier: Apache-2.0
// The speed of a rank's ports with the engine's own messages: bytes and busy seconds per port, told apart by peer. No
// messages of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/executor/message_meter.hpp"
#include "hemiola/runtime/health/port_gauge.hpp"
#include "hemiola/runtime/wire/wire_traits.hpp"

namespace hemiola {

/// Every figure is a speed that a port has certainly reached, so of many the best one counts. Of a rank's own port:
/// what it carried between a message's posting and its end, over that time; messages that share it do not make it look
/// slow (of one that was posted before, the part counts that falls into the time). Of the peer's port: the part that
/// was between the two. Waiting for the other end makes both look slower than they are; but the other end, which then
/// did not wait, has the same two figures. Takes it that a send is done when its bytes have left, a receive a latency
/// later.
class PortMeter final : public MessageMeter, public PortGauge {
 public:
  /// Messages that a healthy network carries in fewer latencies, with their fixed times, say little about bandwidth. By
  /// size, not by the time that they took: among the small ones that would select those that had to wait.
  static constexpr double kLeastLatencies = 1;

  /// `healthy`: by peer.
  PortMeter(Rank self, std::vector<PairSpeed> healthy);

  void posted(const MeteredMessage& message, std::int64_t now_ns) override;
  /// Cost: linear in the messages under way on the same port.
  void finished(const MeteredMessage& message, std::int64_t now_ns) override;

  std::span<const float> shares() const override { return best_; }
  bool has_measured() const override { return has_measured_; }
  std::span<const PairShares> pairs() const override { return pairs_; }
  void clear() override;

 private:
  struct UnderWay {
    Rank peer;
    std::int64_t since_ns;
    double carried;    ///< bytes of other messages by its port since then
    double with_peer;  ///< those with the same peer among them
  };
  using Port = std::vector<UnderWay>;  ///< in the order of posting

  Port& port(std::int32_t lane);
  void note(Rank rank, double share);

  Rank self_;
  std::vector<PairSpeed> healthy_;
  std::vector<float> best_;
  std::vector<PairShares> pairs_;
  std::vector<Port> ports_;  ///< by lane
  bool has_measured_ = false;
};

}  // namespace hemiola
