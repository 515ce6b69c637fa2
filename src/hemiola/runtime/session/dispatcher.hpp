// SPDX-License-Identifier: Apache-2.0
// Hands messages that a courier has received to those that have subscribed to their topic.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/courier.hpp"

namespace hemiola {

class Dispatcher {
 public:
  /// Calls the handler, if there is one. In one thread at a time.
  void deliver(Rank from, Topic topic, std::span<const std::byte> message) {
    const std::lock_guard lock(handlers_->mutex);
    const auto found = handlers_->by_topic.find(topic);
    if (found != handlers_->by_topic.end()) found->second(from, message);
  }

  /// Its end waits for a handler that runs.
  std::unique_ptr<Courier::Subscription> subscribe(Topic topic, Courier::Handler handler) {
    const std::lock_guard lock(handlers_->mutex);
    const bool is_free = handlers_->by_topic.emplace(topic, std::move(handler)).second;
    HEMIOLA_CHECK(is_free, "somebody hears that topic already");
    return std::make_unique<Held>(handlers_, topic);
  }

 private:
  struct Handlers {
    std::mutex mutex;
    std::map<Topic, Courier::Handler> by_topic;
  };

  class Held final : public Courier::Subscription {
   public:
    Held(std::shared_ptr<Handlers> handlers, Topic topic) : handlers_(std::move(handlers)), topic_(topic) {}
    ~Held() override {
      const std::lock_guard lock(handlers_->mutex);
      handlers_->by_topic.erase(topic_);
    }

   private:
    std::shared_ptr<Handlers> handlers_;
    Topic topic_;
  };

  std::shared_ptr<Handlers> handlers_ = std::make_shared<Handlers>();
};

}  // namespace hemiola
