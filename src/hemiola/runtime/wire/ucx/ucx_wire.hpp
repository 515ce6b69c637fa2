// SPDX-License-Identifier: Apache-2.0
// The wire between ranks that UCX joins: InfiniBand, RoCE, EFA, and its other networks. Messages are UCX's active
// messages, each with a header that bears its operation's tag; long ones stay with the sender until they may land, and
// then go there without a copy where the transport can. A reset retires the worker, with everything that is under way.
// A waiting rank sleeps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hemiola/base/descriptor.hpp"
#include "hemiola/runtime/wire/ucx/ucx_desk.hpp"
#include "hemiola/runtime/wire/ucx/ucx_endpoint.hpp"
#include "hemiola/runtime/wire/ucx/ucx_place.hpp"
#include "hemiola/runtime/wire/ucx/ucx_receiver.hpp"
#include "hemiola/runtime/wire/ucx/ucx_sender.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

class UcxWire final : public Wire, private Wakeable {
 public:
  /// `peers` by their numbers in the group, this rank among them.
  UcxWire(UcxPlace place, Rank self, std::vector<UcxPeer> peers);
  ~UcxWire() override;

  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source source) override;
  Request receive(Rank src, const Landing& landing, std::size_t capacity) override;
  bool progress() override;
  bool done(Request request) const override;
  std::optional<ForeignMessage> mismatch() const override;
  std::vector<LostRank> lost() const override;
  void wait(int timeout_us) override;
  void reset(std::uint64_t epoch) override;
  const WireTraits& traits() const override { return traits_; }
  /// The transports between this rank and that one, as "ucx: tcp/eth0"; opens the way, but not after a reset.
  std::string carrier(Rank peer) const override;
  Payload payload(Rank peer) const override;

 private:
  /// The way to one peer, and its messages both ways.
  struct Line {
    Line(UcxWire* owner, Rank rank, UcxPeer to)
        : wire(owner),
          peer(rank),
          address(std::move(to.worker)),
          out(&owner->context_->functions(), &owner->moment_, to.key),
          in(&owner->context_->functions(), &owner->moment_, rank) {}
    void open(const Bytes& to) {
      endpoint.open(wire->worker_.get(), to, has_failed, this);
      if (endpoint.is_open()) endpoint.greet(kUcxMessageId);
    }
    UcxWire* wire;
    Rank peer;
    Bytes address;  ///< of the peer's worker in the first epoch
    UcxEndpoint endpoint;
    UcxSender out;
    UcxReceiver in;
    std::uint64_t sent_bytes = 0;
    ucp::Status broken = ucp::Status::ok;  ///< why the endpoint is of no use any more
    std::int64_t broken_ns = 0;
    bool is_listed = false;
    bool has_sent_nonsense = false;  ///< a header that no rank writes
    bool is_opened() const { return endpoint.is_open() || !endpoint.why_not().empty(); }
    bool is_idle() const { return out.idle() && in.idle(); }
    void note_break(ucp::Status status) {
      if (broken != ucp::Status::ok) return;
      broken = status;
      broken_ns = wire->now_ns();
    }
  };

  static ucp::Status has_arrived(void* wire, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t bytes, const ucp::ActiveMessageParams* params);
  static void has_failed(void* line, ucp::Endpoint* endpoint, ucp::Status status);

  int wake_descriptor() override { return events_.get(); }
  bool arm(int* timeout_us) override;
  Line& line_of(Rank peer) const;
  void open(Line* line);
  void list(Line* line);
  void land();
  void take(std::unique_ptr<UcxWorker> worker);
  void come_to_epoch();
  void retire_worker();
  bool end_requests();
  void watch(int descriptor) const;
  bool is_first_epoch() const { return moment_.epoch == 0; }

  std::shared_ptr<const UcxContext> context_;
  Descriptor events_;
  std::unique_ptr<UcxWorker> worker_;   ///< none between a reset and the next worker
  std::unique_ptr<UcxWorker> retired_;  ///< of the epoch before
  std::uint64_t own_key_;
  UcxMoment moment_;
  UcxDesk desk_;
  WireTraits traits_;
  std::vector<std::unique_ptr<Line>> lines_;  ///< by peer
  std::vector<Line*> listed_;                 ///< with arrivals, or for which a way is to be opened
};

}  // namespace hemiola
