// How the members of one communicator talk about one thing by courier: to each other, and to the one that keeps the books,
// which is the first of them. Messages lie in memory as they are sent: all ranks run the same version on machines of one
// byte order, which the session sees to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/head.hpp"
#include "hemiola/runtime/session/courier.hpp"
#include "hemiola/runtime/session/members.hpp"

namespace hemiola::hosts {

/// A number that says what a message is, then what it says, then what belongs to it.
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

template <typename Kind>
Kind kind_of(std::span<const std::byte> message) {
  HEMIOLA_CHECK(message.size() >= sizeof(Kind), "a message of the control plane without a kind");
  Kind kind;
  std::memcpy(&kind, message.data(), sizeof kind);
  return kind;
}

/// What its sender left out at the end is as it is by default.
template <typename Body>
Body body_of(std::span<const std::byte> message) {
  return head_of<Body>(message.subspan(sizeof(std::uint32_t)));
}

template <typename Body>
std::span<const std::byte> after_body(std::span<const std::byte> message) {
  HEMIOLA_CHECK(message.size() >= 4 + sizeof(Body), "a message of the control plane that is too short");
  return message.subspan(4 + sizeof(Body));
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

  void tell_keeper(Bytes message) const {
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
  std::unique_ptr<Courier::Subscription> as_keeper(Courier::Handler hear) const {
    return subscribe(to_keeper_, std::move(hear));
  }

 private:
  std::unique_ptr<Courier::Subscription> subscribe(Topic topic, Courier::Handler hear) const {
    return courier_->subscribe(topic,
                               [this, hear = std::move(hear)](Rank from, std::span<const std::byte> message) {
                                 if (const auto rank = members_.number_of(from)) hear(*rank, message);
                               });
  }

  const Members members_;
  Courier* courier_;
  Topic to_members_, to_keeper_;
};

}  // namespace hemiola::hosts
