// SPDX-License-Identifier: Apache-2.0
// The wire between ranks that a network of the Internet Protocol joins. Messages go over a connection to each peer,
// opened when something is first sent between the two; over several in turn where hosts have several NICs. If the way over a
// NIC is cut, its connections go on over another one. A waiting rank sleeps. Every message bears its operation's tag.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hemiola/runtime/net/nic_addresses.hpp"
#include "hemiola/runtime/net/reception.hpp"
#include "hemiola/runtime/wire/tcp/message_receiver.hpp"
#include "hemiola/runtime/wire/tcp/message_sender.hpp"
#include "hemiola/runtime/wire/tcp/pair_link.hpp"
#include "hemiola/runtime/wire/tcp/poller.hpp"
#include "hemiola/runtime/wire/tcp/resumption.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// How to come to a peer.
struct TcpPeer {
  Rank world_rank{0};  ///< as its credentials name it
  std::uint32_t door = 0;
  std::vector<NicAddresses> nics;
};

class TcpWire final : public Wire, private Wakeable {
 public:
  /// `peers` by their numbers in the group, this rank among them. Others come by `door`.
  TcpWire(std::unique_ptr<Door> door, Rank self, const std::vector<TcpPeer>& peers);
  /// Where there are several NICs, waits for 3 s at most until the others have all that has been sent.
  ~TcpWire() override;

  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source source) override;
  Request receive(Rank src, const Landing& landing, std::size_t capacity) override;
  bool progress() override;
  bool done(Request request) const override;
  std::optional<ForeignMessage> mismatch() const override;
  std::vector<LostRank> lost() const override;
  void wait(int timeout_us) override;
  void reset(std::uint64_t epoch) override;
  std::string carrier(Rank) const override { return "tcp"; }
  Payload payload(Rank peer) const override;
  bool watch_port(ArrivalListener* listener, double port_bytes_per_ns) override;
  const WireTraits& traits() const override { return traits_; }

 private:
  /// One connection to one peer, and its messages.
  struct Line {
    Line(Rank peer, PairLink::Route route, Poller* poller, std::uint32_t key, bool may_move)
        : out(may_move), in(peer), link(std::move(route), poller, key), peer(peer), key(key) {}
    MessageSender out;
    MessageReceiver in;
    PairLink link;
    Rank peer;
    std::uint32_t key;
    std::unique_ptr<Resumption> resumption = nullptr;  ///< while it moves to another NIC
    bool is_new = false;   ///< nothing shows yet that the other end hears the connection
    bool has_news = true;  ///< of its connections
    bool has_seen_end = false;
    bool is_listed = false;
    bool has_posts() const { return !out.idle() || !in.idle(); }
    bool is_under_way() const { return link.is_connecting() || resumption; }
  };

  /// Messages take the lines of a peer in turn.
  struct Peer {
    Rank world_rank;
    std::uint64_t sent = 0, received = 0;  ///< posted
    std::uint64_t sent_bytes = 0;
  };

  /// Epochs of connections that belong to one of the wire: a line has a new one whenever it moves.
  static constexpr std::uint64_t kMoves = std::uint64_t{1} << 24;

  int wake_descriptor() override { return poller_.descriptor(); }
  bool arm(int* timeout_us) override;
  std::size_t line_of(Rank peer, std::uint64_t number) const;
  Line& list(std::size_t line);
  bool go_on(Line* line);
  bool take_in(Line* line);
  bool go_on_with_listed();
  bool asks_itself();
  bool look(int timeout_us);
  void admit();
  bool connect(Line* line);
  bool resume(Line* line);
  void heed_cut_ways();
  bool awaits_answer(Line* line);
  bool is_cut(Line* line);
  void move(Line* line, std::uint64_t epoch);

  Rank self_;
  std::size_t lines_per_pair_;
  bool may_move_ = false;    ///< there are several NICs
  bool is_leaving_ = false;  ///< nothing is received any more
  std::chrono::steady_clock::time_point next_look_at_ways_{};
  std::uint64_t first_epoch_ = 0;  ///< of connections since the latest reset
  std::unique_ptr<Door> door_;
  Poller poller_;
  WireTraits traits_;
  ArrivalListener* listener_ = nullptr;
  BounceBuffer bounce_;
  std::vector<Peer> peers_;
  std::vector<std::unique_ptr<Line>> lines_;  ///< by peer, then one after the other
  std::vector<std::size_t> listed_;           ///< those with something posted, or with news
  unsigned times_alone_ = 0;                  ///< in which one line alone was listed
};

}  // namespace hemiola
