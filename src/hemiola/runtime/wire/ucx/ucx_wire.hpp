// The wire between ranks that UCX joins: InfiniBand, RoCE, EFA, and whatever else it knows. Messages are UCX's active messages,
// each with a header that bears its operation's tag; long ones stay with the sender until they may land, and then go there
// without a copy where the transport can. Whoever waits sleeps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/wire/ucx/ucx_endpoint.hpp"
#include "hemiola/runtime/wire/ucx/ucx_receiver.hpp"
#include "hemiola/runtime/wire/ucx/ucx_sender.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// How to come to a peer.
struct UcxPeer {
  std::uint64_t key = 0;  ///< what its messages must bear
  Bytes address;          ///< of its worker
};

class UcxWire final : public Wire {
 public:
  /// `peers` by their numbers in the group, this rank among them.
  UcxWire(std::unique_ptr<UcxWorker> worker, Rank self, std::vector<UcxPeer> peers);
  ~UcxWire() override;

  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source source) override;
  Request receive(Rank src, const Landing& landing, std::size_t capacity) override;
  bool progress() override;
  bool done(Request request) const override;
  void begin_operation(const OperationTag& tag) override { moment_.tag = tag; }
  std::optional<ForeignMessage> mismatch() const override;
  std::vector<LostRank> lost() const override;
  void wait(int timeout_us) override;
  int wake_descriptor() override { return worker_->descriptor(); }
  bool arm(int* timeout_us) override;
  /// Throws LostRankError where UCX does not let go of the caller's memory.
  void reset(std::uint64_t epoch) override;
  const WireTraits& traits() const override { return traits_; }
  /// The transports between this rank and that one, as "ucx: tcp/eth0"; opens the way.
  std::string carrier(Rank peer) const override;

 private:
  /// The way to one peer, and what goes over it both ways.
  struct Line {
    Line(UcxWire* owner, Rank rank, UcxPeer to)
        : wire(owner),
          peer(std::move(to)),
          out(&owner->worker_->functions(), &owner->moment_, peer.key),
          in(owner->worker_.get(), &owner->moment_, rank) {}
    UcxWire* wire;
    UcxPeer peer;
    UcxEndpoint endpoint;
    UcxSender out;
    UcxReceiver in;
    ucp::Status broken = ucp::Status::ok;  ///< why the endpoint is of no use any more
    std::int64_t broken_ns = 0;
    bool is_listed = false;  ///< among those with arrivals
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

  Line& line_of(Rank peer) const;
  void open(Line* line) const;
  void land();
  void close_all();

  std::unique_ptr<UcxWorker> worker_;
  std::uint64_t own_key_;
  UcxMoment moment_;
  WireTraits traits_;
  std::vector<std::unique_ptr<Line>> lines_;  ///< by peer
  std::vector<Line*> listed_;
};

}  // namespace hemiola
