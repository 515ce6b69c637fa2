// How fast a rank's ports carry what the engine gives them anyway: bytes and busy seconds per port, told apart by
// peer. No messages of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// What a healthy network would do between this rank and one peer.
struct PairSpeed {
  double latency_ns = 0;
  double bytes_per_ns = 1;
};

/// A message as the engine sees it.
struct MeteredMessage {
  std::int32_t lane = 0;  ///< its port and direction, as the program numbers them
  Rank peer{0};
  bool sending = false;
  std::int64_t bytes = 0;
};

/// Every figure is a speed that a port has certainly reached, so of many the best one counts. Of a rank's own port:
/// what it carried between a message's posting and its end, over that time; messages that share it do not make it
/// look slow (of one that was posted before, the part counts that falls into the time). Of the peer's port: what of
/// that was between the two. Waiting for the other end makes both look slower than they are; but the other end,
/// which then did not wait, has the same two figures. Takes it that a send is done when its bytes have left, a
/// receive a latency later.
class PortMeter {
 public:
  /// Messages that a healthy network carries in fewer latencies say little about bandwidth. By size, not by the
  /// time that they took: among the small ones that would select those that had to wait.
  static constexpr double kLeastLatencies = 1;

  /// `healthy`: by peer.
  PortMeter(Rank self, std::vector<PairSpeed> healthy);

  int rank_count() const { return static_cast<int>(healthy_.size()); }

  /// A message is under way. Those with one peer in one direction finish in the order in which they are posted.
  void posted(const MeteredMessage& message, std::int64_t now_ns);
  /// Cost: linear in the messages under way on the same port.
  void finished(const MeteredMessage& message, std::int64_t now_ns);

  /// By rank, this one among them: the best speed of its port since the last `clear`, as a share of the healthy one, at
  /// most 1; 0 where nothing could be told.
  std::span<const float> shares() const { return best_; }
  bool has_measured() const { return has_measured_; }
  /// Forgets rates, and messages that an operation has left under way.
  void clear();

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
  std::vector<Port> ports_;  ///< by lane
  bool has_measured_ = false;
};

}  // namespace hemiola
