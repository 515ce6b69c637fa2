// A wire between threads of one process, for tests: strict about the wire contract and adversarial about timing. A
// message may finish at once, or only when the other end has posted, and progress moves things in a random order.
#pragma once

#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "hemiola/base/random.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola::testing {

struct ThreadWireOptions {
  bool rendezvous = false;  ///< a send is done only once its bytes have landed
  std::size_t slice_bytes = 256;
  std::uint64_t seed = 1;
  int laziness = 0;  ///< of 10 chances to move something, how many are let pass
};

/// What all ranks' wires share: a queue of messages per ordered pair.
class ThreadNetwork {
 public:
  ThreadNetwork(int rank_count, ThreadWireOptions options)
      : rank_count_(rank_count),
        options_(options),
        pairs_(static_cast<std::size_t>(rank_count * rank_count)) {}

  int rank_count() const { return rank_count_; }
  const ThreadWireOptions& options() const { return options_; }

  struct Parcel {
    std::vector<std::byte> bytes;     ///< eager: a copy
    const std::byte* data = nullptr;  ///< rendezvous: the sender's own memory
    std::size_t size = 0;
    std::shared_ptr<bool> taken;  ///< guarded by the pair's mutex
    std::uint64_t epoch = 0;
  };
  struct Pair {
    std::mutex mutex;
    std::deque<Parcel> parcels;
  };
  Pair& pair(Rank src, Rank dst) { return pairs_[static_cast<std::size_t>(src * rank_count_ + dst)]; }

 private:
  int rank_count_;
  ThreadWireOptions options_;
  std::vector<Pair> pairs_;
};

class ThreadWire : public Wire {
 public:
  ThreadWire(ThreadNetwork* network, Rank rank)
      : network_(network),
        rank_(rank),
        random_(network->options().seed * 1000 + static_cast<std::uint64_t>(rank)) {
    receives_.resize(static_cast<std::size_t>(network->rank_count()));
  }

  int rank_count() const override { return network_->rank_count(); }

  Request send(Rank dst, const std::byte* data, std::size_t bytes, Source) override {
    auto& pair = network_->pair(rank_, dst);
    ThreadNetwork::Parcel parcel{{}, nullptr, bytes, std::make_shared<bool>(false), epoch_};
    if (network_->options().rendezvous)
      parcel.data = data;
    else
      parcel.bytes.assign(data, data + bytes);
    sends_.push_back({&pair, parcel.taken});
    std::lock_guard lock(pair.mutex);
    pair.parcels.push_back(std::move(parcel));
    return static_cast<Request>(2 * (sends_.size() - 1));
  }

  Request receive(Rank src, const Landing& landing, std::size_t bytes) override {
    receives_[static_cast<std::size_t>(src)].push_back({landing, bytes, received_.size()});
    received_.push_back(false);
    return static_cast<Request>(2 * (received_.size() - 1) + 1);
  }

  bool progress() override {
    bool moved = false;
    const int ranks = rank_count();
    const int first = static_cast<int>(random_.below(static_cast<std::uint32_t>(ranks)));
    for (int i = 0; i < ranks; ++i) moved |= land(Rank{(first + i) % ranks});
    return moved;
  }

  bool done(Request request) const override {
    const auto number = static_cast<std::uint64_t>(request);
    if (number % 2 == 1) return received_[number / 2];
    if (!network_->options().rendezvous) return true;
    const Sent& sent = sends_[number / 2];
    std::lock_guard lock(sent.pair->mutex);
    return *sent.taken;
  }

  void wait(int timeout_us) override {
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(timeout_us, 50)));
  }

  void reset(std::uint64_t epoch) override {
    epoch_ = epoch;
    for (auto& queue : receives_) queue.clear();
    received_.assign(received_.size(), true);
    for (Rank src : indices<Rank>(rank_count())) forget_old(src);
    for (Rank dst : indices<Rank>(rank_count())) withdraw(dst);
  }

  std::size_t slice_bytes() const override { return network_->options().slice_bytes; }

 private:
  struct Posted {
    Landing landing;
    std::size_t bytes;
    std::size_t number;
  };
  struct Sent {
    ThreadNetwork::Pair* pair;
    std::shared_ptr<bool> taken;
  };

  bool land(Rank src) {
    auto& queue = receives_[static_cast<std::size_t>(src)];
    if (queue.empty() || random_.below(10) < static_cast<std::uint32_t>(network_->options().laziness))
      return false;
    auto& pair = network_->pair(src, rank_);
    std::lock_guard lock(pair.mutex);
    while (!pair.parcels.empty() && pair.parcels.front().epoch < epoch_) pair.parcels.pop_front();
    if (pair.parcels.empty() || pair.parcels.front().epoch > epoch_) return false;
    const ThreadNetwork::Parcel& parcel = pair.parcels.front();
    if (parcel.size != queue.front().bytes)
      throw std::logic_error("the two ends of a message state different sizes");
    const Landing& l = queue.front().landing;
    const std::byte* data = parcel.data != nullptr ? parcel.data : parcel.bytes.data();
    if (l.combine != nullptr)
      l.combine(l.dst, l.operand, data, parcel.size);
    else
      std::memcpy(l.dst, data, parcel.size);
    *parcel.taken = true;
    received_[queue.front().number] = true;
    queue.pop_front();
    pair.parcels.pop_front();
    return true;
  }

  void forget_old(Rank src) {
    auto& pair = network_->pair(src, rank_);
    std::lock_guard lock(pair.mutex);
    while (!pair.parcels.empty() && pair.parcels.front().epoch < epoch_) pair.parcels.pop_front();
  }
  /// Our own memory must not be read after a reset.
  void withdraw(Rank dst) {
    auto& pair = network_->pair(rank_, dst);
    std::lock_guard lock(pair.mutex);
    std::erase_if(pair.parcels, [&](const auto& parcel) { return parcel.epoch < epoch_; });
  }

  ThreadNetwork* network_;
  Rank rank_;
  Random random_;
  std::uint64_t epoch_ = 0;
  std::vector<std::deque<Posted>> receives_;
  std::vector<bool> received_;
  std::deque<Sent> sends_;
};

}  // namespace hemiola::testing
