// SPDX-License-Identifier: Apache-2.0
// How the members of one communicator talk about one thing by courier: to each other, and to the one that keeps the books,
// which is the first of them. Messages lie in memory as they are sent: all ranks run the same version on machines of one
// byte order, which the session sees to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/head.hpp"
#include "hemiola/runtime/session/courier.hpp"
#include "hemiola/runtime/session/members.hpp"

namespace hemiola::hosts {

/// A number for the kind of message, then its head, then its body.
template <typename Kind, typename Body>
Bytes packed(Kind kind, const Body& body, std::span<const std::byte> more = {},
             std::size_t body_bytes = sizeof(Body)) {
  static_assert(std::is_trivially_copyable_v<Body> && sizeof(Kind) == 4);
  Bytes bytes(sizeof kind + body_bytes + more.size());
  std::memcpy(bytes.data(), &kind, sizeof kind);
  std::memcpy(bytes.data() + sizeof kind, &body, body_bytes);
  if (!more.empty()) std::memcpy(bytes.data() + sizeof kind + body_bytes, more.data(), more.size());
  return bytes;
}

// Every field of a message is checked before it is used: the functions below throw a FormatError.

template <typename Kind>
Kind kind_of(std::span<const std::byte> message) {
  static_assert(sizeof(Kind) == 4);
  return head_of<Kind>(message);
}

/// Fields that the sender left out behind `least` bytes have their defaults.
template <typename Body>
Body body_of(std::span<const std::byte> message, std::size_t least = sizeof(Body)) {
  head_of<std::uint32_t>(message);
  return head_of<Body>(message.subspan(sizeof(std::uint32_t)), least);
}

template <typename Body>
std::span<const std::byte> after_body(std::span<const std::byte> message) {
  body_of<Body>(message);
  return message.subspan(sizeof(std::uint32_t) + sizeof(Body));
}

/// One subject of one communicator. Ranks by their number in the communicator.
class Talk {
 public:
  /// `subject` is a number that all members have agreed on, even and theirs alone.
  Talk(const Members& members, Courier* courier, Topic subject)
      : members_(members), courier_(courier), to_members_(subject), to_keeper_(subject + 1) {}

  static constexpr Rank kKeeper{0};

  const Members& members() const { return members_; }
  bool keeps() const { return members_.self == kKeeper; }

  /// Throws FormatError for a number that no member has.
  Rank checked(Rank rank) const {
    if (rank < 0 || rank >= members_.count())
      throw FormatError("a message about member " + std::to_string(rank) + " of " +
                        std::to_string(members_.count()));
    return rank;
  }
  /// Throws FormatError where a member speaks for another one.
  void check_sender(Rank said, Rank from) const {
    if (said != from)
      throw FormatError("a message of member " + std::to_string(from) + " that says it is of member " +
                        std::to_string(said));
  }

  /// The keeper's own messages do not wait for the courier: its books end with its rank's communicator, and its own word must
  /// be on its way to all by then.
  void tell_keeper(Bytes message) const {
    if (keeps()) return hear_as_keeper(members_.self, message);
    courier_->send(members_.world_rank(kKeeper), to_keeper_, std::move(message));
  }
  void tell(Rank member, Bytes message) const {
    courier_->send(members_.world_rank(member), to_members_, std::move(message));
  }
  void tell_members(const Bytes& message) const {
    for (Rank member : indices<Rank>(members_.count())) tell(member, message);
  }
  /// Over many ways; see Courier.
  void tell_survivors(Bytes message) const { courier_->tell_all(to_members_, std::move(message)); }

  /// `hear` is given the sender's number in the communicator.
  std::unique_ptr<Courier::Subscription> as_member(Courier::Handler hear) const {
    return subscribe(to_members_, std::move(hear));
  }
  /// In one thread at a time.
  std::unique_ptr<Courier::Subscription> as_keeper(Courier::Handler hear) const {
    keeper_ = std::move(hear);
    return subscribe(
        to_keeper_, [this](Rank from, std::span<const std::byte> message) { hear_as_keeper(from, message); });
  }

 private:
  void hear_as_keeper(Rank from, std::span<const std::byte> message) const {
    const std::lock_guard lock(keeper_mutex_);
    keeper_(from, message);
  }
  std::unique_ptr<Courier::Subscription> subscribe(Topic topic, Courier::Handler hear) const {
    return courier_->subscribe(topic,
                               [this, hear = std::move(hear)](Rank from, std::span<const std::byte> message) {
                                 if (const auto rank = members_.number_of(from)) hear(*rank, message);
                               });
  }

  const Members members_;
  Courier* courier_;
  Topic to_members_, to_keeper_;
  mutable std::mutex keeper_mutex_;
  mutable Courier::Handler keeper_;  ///< on the keeper
};

}  // namespace hemiola::hosts
