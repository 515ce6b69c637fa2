// SPDX-License-Identifier: Apache-2.0
// A wire between threads of one process, without shared regions: a kind like any other, strict about the contract and
// adversarial about timing. A message may finish at once, or only when the other end has taken it, and progress moves
// things in a random order.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "hemiola/base/random.hpp"
#include "hemiola/runtime/wire/wire_kind.hpp"

namespace hemiola::testing {

struct InProcessOptions {
  bool rendezvous = false;  ///< a send is done only once its bytes have landed
  std::size_t slice_bytes = 256;
  std::uint64_t seed = 1;
  int laziness = 0;  ///< of 10 chances to move something, how many are let pass
  /// Messages bear hints, without signatures.
  bool carries_hints = false;
};

/// What others have sent to a rank, by sender.
class Mailbox {
 public:
  struct Parcel {
    std::vector<std::byte> bytes;     ///< a copy
    const std::byte* data = nullptr;  ///< rendezvous: the sender's own memory
    std::size_t size = 0;
    std::shared_ptr<bool> taken;  ///< guarded by the queue's mutex
    std::uint64_t epoch = 0;
    std::uint8_t hints = 0;
  };
  struct Queue {
    std::mutex mutex;
    std::deque<Parcel> parcels;
  };

  explicit Mailbox(int rank_count) : queues_(static_cast<std::size_t>(rank_count)) {}

  Queue& from(Rank src) { return queues_[static_cast<std::size_t>(src)]; }
  std::atomic<bool> is_abandoned = false;  ///< its rank has no wire any more

 private:
  std::vector<Queue> queues_;
};

using Mailboxes = std::vector<std::shared_ptr<Mailbox>>;

inline Mailboxes mailboxes_for(int rank_count) {
  Mailboxes mailboxes;
  for (int i = 0; i < rank_count; ++i) mailboxes.push_back(std::make_shared<Mailbox>(rank_count));
  return mailboxes;
}

class InProcessWire : public Wire {
 public:
  InProcessWire(Mailboxes mailboxes, Rank rank, InProcessOptions options)
      : mailboxes_(std::move(mailboxes)),
        rank_(rank),
        options_(options),
        traits_{.messages = {.slice_bytes = static_cast<std::int64_t>(options.slice_bytes)},
                .carries_hints = options.carries_hints},
        random_(options.seed * 1000 + static_cast<std::uint64_t>(rank)),
        receives_(mailboxes_.size()),
        payload_(mailboxes_.size()) {}
  ~InProcessWire() override { own_mailbox().is_abandoned = true; }

  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source) override {
    Mailbox::Queue& queue = mailbox(dst).from(rank_);
    payload_[static_cast<std::size_t>(dst)].sent += bytes;
    Mailbox::Parcel parcel{{}, nullptr, bytes, std::make_shared<bool>(false), epoch_, tag_.hints};
    if (options_.rendezvous) parcel.data = data;
    parcel.bytes.assign(data, data + bytes);
    sends_.push_back({&queue, parcel.taken, false});
    std::lock_guard lock(queue.mutex);
    queue.parcels.push_back(std::move(parcel));
    return static_cast<Request>(2 * (sends_.size() - 1));
  }

  Request receive(Rank src, const Landing& landing, std::size_t capacity) override {
    receives_[static_cast<std::size_t>(src)].push_back({landing, capacity, received_.size()});
    received_.push_back(false);
    return static_cast<Request>(2 * (received_.size() - 1) + 1);
  }

  bool progress() override {
    bool moved = false;
    const int first = static_cast<int>(random_.below(static_cast<std::uint32_t>(rank_count())));
    for (int i = 0; i < rank_count(); ++i) moved |= land(Rank{(first + i) % rank_count()});
    return moved;
  }

  bool done(Request request) const override {
    const auto number = static_cast<std::uint64_t>(request);
    if (number % 2 == 1) return received_[number / 2];
    const Sent& sent = sends_[number / 2];
    if (!options_.rendezvous || sent.is_forgotten) return true;
    std::lock_guard lock(sent.queue->mutex);
    return *sent.taken;
  }

  std::vector<LostRank> lost() const override {
    std::vector<LostRank> lost;
    for (Rank peer : indices<Rank>(rank_count()))
      if (peer != rank_ && mailboxes_[static_cast<std::size_t>(peer)]->is_abandoned)
        lost.push_back({peer, "it has left its mailbox"});
    return lost;
  }

  void wait(int timeout_us) override {
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(timeout_us, 50)));
  }

  void reset(std::uint64_t epoch) override {
    epoch_ = epoch;
    for (auto& queue : receives_) queue.clear();
    received_.assign(received_.size(), true);
    for (Sent& sent : sends_) sent.is_forgotten = true;
    for (Rank peer : indices<Rank>(rank_count())) {
      forget_old(own_mailbox().from(peer));
      check_unchanged(mailbox(peer).from(rank_));
      forget_old(mailbox(peer).from(rank_));  // our own memory must not be read after a reset
    }
  }

  std::string carrier(Rank) const override { return "in process"; }
  Payload payload(Rank peer) const override { return payload_[static_cast<std::size_t>(peer)]; }
  const WireTraits& traits() const override { return traits_; }

 private:
  struct Posted {
    Landing landing;
    std::size_t capacity;
    std::size_t number;
  };
  struct Sent {
    Mailbox::Queue* queue;
    std::shared_ptr<bool> taken;
    bool is_forgotten;
  };

  int rank_count() const { return static_cast<int>(mailboxes_.size()); }
  Mailbox& mailbox(Rank rank) { return *mailboxes_[static_cast<std::size_t>(rank)]; }
  Mailbox& own_mailbox() { return mailbox(rank_); }

  bool land(Rank src) {
    auto& posted = receives_[static_cast<std::size_t>(src)];
    if (posted.empty() || random_.below(10) < static_cast<std::uint32_t>(options_.laziness)) return false;
    Mailbox::Queue& queue = own_mailbox().from(src);
    std::lock_guard lock(queue.mutex);
    erase_old(queue);
    if (queue.parcels.empty() || queue.parcels.front().epoch > epoch_) return false;
    const Mailbox::Parcel& parcel = queue.parcels.front();
    tag_.hints |= parcel.hints;
    const Landing& l = posted.front().landing;
    check_message_size(src, l, posted.front().capacity, parcel.size);
    if (l.received != nullptr) *l.received = parcel.size;
    check_unchanged(parcel);
    const std::byte* data = parcel.data != nullptr ? parcel.data : parcel.bytes.data();
    if (l.combine != nullptr)
      l.combine(l.dst, l.operand, data, parcel.size);
    else if (parcel.size > 0)
      std::memcpy(l.dst, data, parcel.size);
    payload_[static_cast<std::size_t>(src)].received += parcel.size;
    *parcel.taken = true;
    received_[posted.front().number] = true;
    posted.pop_front();
    queue.parcels.pop_front();
    return true;
  }

  /// A message's memory stays as it was until it has gone, or the wire is reset.
  static void check_unchanged(const Mailbox::Parcel& parcel) {
    if (parcel.data == nullptr || parcel.size == 0) return;
    if (std::memcmp(parcel.data, parcel.bytes.data(), parcel.size) != 0)
      ADD_FAILURE() << "a message of " << parcel.size << " bytes has changed since it was posted";
  }
  void check_unchanged(Mailbox::Queue& queue) {
    std::lock_guard lock(queue.mutex);
    for (const Mailbox::Parcel& parcel : queue.parcels)
      if (parcel.epoch < epoch_) check_unchanged(parcel);
  }
  void forget_old(Mailbox::Queue& queue) {
    std::lock_guard lock(queue.mutex);
    erase_old(queue);
  }
  void erase_old(Mailbox::Queue& queue) {
    std::erase_if(queue.parcels, [&](const auto& parcel) { return parcel.epoch < epoch_; });
  }

  Mailboxes mailboxes_;
  Rank rank_;
  InProcessOptions options_;
  WireTraits traits_;
  Random random_;
  std::uint64_t epoch_ = 0;
  std::vector<std::deque<Posted>> receives_;
  std::vector<Payload> payload_;  // by peer
  std::vector<bool> received_;
  std::deque<Sent> sends_;
};

/// Mailboxes by the number that stands on a rank's card. They live as long as the process.
class PostOffice {
 public:
  static PostOffice& of_this_process() {
    static PostOffice office;
    return office;
  }
  std::uint64_t open(int rank_count) {
    std::lock_guard lock(mutex_);
    mailboxes_.emplace(++last_number_, std::make_shared<Mailbox>(rank_count));
    return last_number_;
  }
  std::shared_ptr<Mailbox> find(std::uint64_t number) {
    std::lock_guard lock(mutex_);
    return mailboxes_.at(number);
  }

 private:
  std::mutex mutex_;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Mailbox>> mailboxes_;
};

class InProcessKind : public WireKind {
 public:
  explicit InProcessKind(InProcessOptions options = {}) : options_(options) {}

  std::string name() const override { return "in-process"; }
  bool reaches(const Session&, Rank) const override { return true; }
  Bytes card(const Members& members) override {
    const std::uint64_t number = PostOffice::of_this_process().open(members.count());
    Bytes card(sizeof number);
    std::memcpy(card.data(), &number, sizeof number);
    return card;
  }
  std::unique_ptr<Wire> connect(const Members& members, std::span<const Bytes> cards,
                                const Deadline&) override {
    Mailboxes mailboxes;
    for (const Bytes& card : cards) {
      std::uint64_t number = 0;
      std::memcpy(&number, card.data(), sizeof number);
      mailboxes.push_back(PostOffice::of_this_process().find(number));
    }
    return wire(std::move(mailboxes), members.self);
  }

 protected:
  virtual std::unique_ptr<Wire> wire(Mailboxes mailboxes, Rank self) const {
    return std::make_unique<InProcessWire>(std::move(mailboxes), self, options_);
  }

 private:
  InProcessOptions options_;
};

}  // namespace hemiola::testing
