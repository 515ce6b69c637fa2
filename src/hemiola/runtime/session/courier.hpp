// SPDX-License-Identifier: Apache-2.0
// Short messages between the ranks of a job outside of operations: for ranks on several hosts; ranks of one host have
// shared memory instead. A thread of the session's own carries them, however busy a rank is with other things.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola {

/// The subject of a message. Parties that talk to each other have agreed on a number of their own.
using Topic = std::uint64_t;

/// Any thread may call anything. Ranks by their number in the session.
class Courier {
 public:
  virtual ~Courier() = default;

  /// Messages of one rank to another arrive in their order, each once, unless one of the two is lost. To itself is
  /// allowed. Never waits.
  virtual void send(Rank to, Topic topic, Bytes message) = 0;
  /// To every other rank of the session, over many ways, so that the living ones receive it even if some die. Not in
  /// order with the messages of `send`.
  virtual void tell_all(Topic topic, Bytes message) = 0;

  /// Called in the courier's thread, one at a time, and soon over; may send.
  using Handler = std::function<void(Rank from, std::span<const std::byte> message)>;
  class Subscription {
   public:
    virtual ~Subscription() = default;
  };
  /// A message about a topic to which its receiver has not subscribed is dropped, so the talking parts subscribe on all
  /// ranks before they send. Once the subscription is gone, the handler is no longer called. It must not end in the
  /// handler.
  virtual std::unique_ptr<Subscription> subscribe(Topic topic, Handler handler) = 0;
};

}  // namespace hemiola
