// SPDX-License-Identifier: Apache-2.0
// Messages by tag between any two ranks, over any wire: matches receives with sends, and posts the necessary frames on
// the wire. It neither waits nor judges losses. It is used by one thread at a time, on a wire that nobody else uses.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/runtime/messages/message_request.hpp"
#include "hemiola/runtime/session/members.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

/// The head before the data.
struct TaggedHeader {
  enum class Kind : std::uint8_t {
    eager,     ///< the data follows in the same frame
    offer,     ///< of a message that is too long for that
    accept,    ///< of an offer: send it
    refuse,    ///< of an offer: it does not fit, and is not wanted
    data,      ///< that was accepted; it follows as a message of the wire's
    withdraw,  ///< of an offer, by its sender
  };
  Kind kind = Kind::eager;
  DType dtype = DType::uint8;
  std::uint8_t unused[6] = {};
  std::uint64_t number = 0;  ///< the sender's, of an offer and the frames that answer it
  std::int64_t tag = 0;
  std::int64_t element_count = 0;

  std::size_t byte_count() const { return static_cast<std::size_t>(element_count) * bytes_of(dtype); }
};

class Mailbox {
 public:
  /// Up to so many bytes a message is sent whether or not its receiver is there.
  static constexpr std::size_t kEagerBytes = 16 << 10;
  /// As long as so many bytes have not left, later sends wait for their receivers, too.
  static constexpr std::size_t kMostBuffered = 16 << 20;

  /// Both outlive this.
  Mailbox(Wire* wire, const Members* members);

  using RequestPtr = std::shared_ptr<MessageRequest>;
  /// Starts one. Messages from one rank to another with one tag are received in the order in which they were sent, by
  /// receives in the order in which they were posted.
  void post(const RequestPtr& request);
  /// Moves all messages that can move; true when one did. Throws the wire's errors, and a BadMessageError for a peer
  /// that breaks the protocol. Then the mailbox is of no use any more.
  bool progress();

  /// Takes a request back that is not done. False where its data is moving, which nobody can stop.
  bool withdraw(const RequestPtr& request);
  /// Ends a request that has been taken back, or, with all others, when nothing will move any more.
  void end(const RequestPtr& request, std::exception_ptr error);
  void end_all(const std::exception_ptr& error);

  /// Those that are not done, in the order of posting.
  std::vector<RequestPtr> outstanding() const;
  /// Whether there is nothing to wait for, nor to be sent.
  bool is_idle() const { return active_.empty() && !is_sending(); }
  bool is_sending() const { return outgoing_count_ > 0; }
  /// Whether something is still on its way to the peer.
  bool is_sending_to(Rank peer) const { return !peers_[static_cast<std::size_t>(peer)].outgoing.empty(); }
  /// The tags of messages that have come from the peer and nobody has received.
  std::vector<std::int64_t> unreceived_tags(Rank peer) const;
  /// The owners that ended requests kept alive, for a caller that may release them.
  std::vector<std::shared_ptr<const void>> take_released() { return std::exchange(released_, {}); }

 private:
  using Header = TaggedHeader;
  using Kind = Header::Kind;
  static constexpr std::size_t kFrameBytes = sizeof(Header) + kEagerBytes;

  struct Arrived {
    Rank src;
    Header header;
    Bytes data;  ///< none of an offer
  };
  /// An offer that was accepted. Without a request, whose owner does not want it any more, the data goes to `kept`.
  struct Accepted {
    Header header;
    RequestPtr request;
    Bytes kept;
  };
  struct Outgoing {
    Request on_wire;
    Bytes frame;         ///< empty if the data is sent from its own place
    RequestPtr request;  ///< that ends with it, if any
  };
  struct Peer {
    std::deque<Outgoing> outgoing;
    Bytes frame;
    std::size_t received = 0;                    ///< bytes of it
    std::optional<Request> frame_request;        ///< nothing: nobody listens
    std::optional<Request> data_request;         ///< of the bytes after a frame of kind `data`
    std::uint64_t data_number = 0;               ///< which offer's it is
    std::map<std::uint64_t, Accepted> accepted;  ///< by the sender's number
  };

  void post_send(const RequestPtr& request);
  void post_receive(const RequestPtr& request);
  void send_frame(Rank dst, const Header& header, const std::byte* data = nullptr);
  void send_data(const RequestPtr& request);
  void listen(Rank src);
  bool reap(Peer* peer);
  bool take(Rank src);
  void handle(Rank src, std::span<const std::byte> frame);
  void heed_answer(Rank src, const Header& header);
  void begin_data(Rank src, const Header& header);
  void end_data(Rank src);
  void heed_withdrawal(Rank src, std::uint64_t number);
  void take_message(Arrived message);
  bool meet(const RequestPtr& request, Arrived* message);
  void check(Rank src, const Header& header, std::size_t bytes) const;

  Peer& peer(Rank rank) { return peers_[static_cast<std::size_t>(rank)]; }

  Wire* wire_;
  const Members* members_;
  std::vector<Peer> peers_;
  bool is_listening_ = false;
  std::uint64_t posted_count_ = 0;
  std::map<std::uint64_t, RequestPtr> active_;   ///< by number
  std::map<std::uint64_t, RequestPtr> waiting_;  ///< receives for which nothing has come
  std::map<std::uint64_t, RequestPtr> offered_;  ///< sends
  std::list<Arrived> arrived_;                   ///< messages for which nobody waits
  std::size_t outgoing_count_ = 0, buffered_bytes_ = 0;
  std::vector<std::shared_ptr<const void>> released_;
};

}  // namespace hemiola
