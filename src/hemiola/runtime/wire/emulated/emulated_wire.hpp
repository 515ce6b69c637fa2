// SPDX-License-Identifier: Apache-2.0
// A wire around another that makes it behave like a given network: real bytes move through the inner wire as fast
// as they can, and a message is done only when the emulated network would be done with it, too.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "hemiola/runtime/wire/emulated/shared_network.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

class EmulatedWire final : public Wire, private EmulatedClock {
 public:
  /// `state`: all ranks' memory for a SharedNetwork.
  EmulatedWire(std::unique_ptr<Wire> inner, std::shared_ptr<const EmulatedNetwork> network,
               std::shared_ptr<SharedRegion> state, Rank self);

  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source source = Source::settled) override;
  Request receive(Rank src, const Landing& landing, std::size_t capacity) override;
  bool progress() override;
  bool done(Request request) const override;
  std::optional<ForeignMessage> mismatch() const override {
    lend_tag(*inner_);
    return inner_->mismatch();
  }
  std::vector<LostRank> lost() const override { return inner_->lost(); }
  void wait(int timeout_us) override;
  void reset(std::uint64_t epoch) override;
  std::string carrier(Rank peer) const override { return "emulated over " + inner_->carrier(peer); }
  Payload payload(Rank peer) const override { return inner_->payload(peer); }
  const WireTraits& traits() const override { return traits_; }

 private:
  /// While nothing is under way on the network, the next message may begin at once; one that ends while one of its ranks
  /// sleeps waits for that rank, and so does everybody's clock. So sleeps are short at first, then twice as long each.
  static constexpr int kFirstSleep_us = 50;

  struct Message {
    MessageName name;
    std::size_t bytes;
    Request inner;
    double not_before_ns;  ///< of the emulated clock
    bool is_posted = false;
    bool is_done = false;
  };
  /// All messages to one peer, or from one; those before `first` are done.
  struct Channel {
    std::deque<Message> messages;
    std::uint64_t first = 0;
    std::uint64_t first_of_epoch = 0;
    bool is_open() const { return !messages.empty(); }
  };

  std::int64_t now_ns() const override;
  void charge(std::int64_t core_ns) override;
  void slow_down(const NetworkSlowdown& slowdown) override;

  Channel& channel(Rank peer, bool sending) {
    return channels_[2 * static_cast<std::size_t>(peer) + sending];
  }
  Request add(Rank peer, bool sending, std::size_t bytes, Request inner);
  bool settle();

  std::unique_ptr<Wire> inner_;
  std::shared_ptr<const EmulatedNetwork> network_;
  std::shared_ptr<SharedRegion> memory_;
  WireTraits traits_;
  SharedNetwork state_;
  Rank self_;
  std::vector<Channel> channels_;
  std::vector<std::size_t> open_;        ///< channels with messages that are not done
  double now_ns_ = 0;                    ///< when we last looked
  int unannounced_us_ = kFirstSleep_us;  ///< the next sleep while nothing is under way
  double core_free_ns_ = 0;              ///< when this rank's core has done all that has been charged
  bool has_unposted_ = false;            ///< the network has yet to be told of some
  bool is_reacting_ = false;             ///< the network waits for our word that we have seen the event
};

}  // namespace hemiola
