// SPDX-License-Identifier: Apache-2.0
// A session between threads of one process that have no memory in common, as ranks on different hosts have none: what
// they exchange goes through one table under a lock, and a thread per rank carries messages.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/dispatcher.hpp"
#include "hemiola/runtime/session/hosts/survivors_desk.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola::testing {

/// What has been sent to one rank, and the thread that hands it on.
class InProcessInbox {
 public:
  InProcessInbox() : thread_([this] { run(); }) {}
  ~InProcessInbox() {
    put({});
    thread_.join();
  }
  InProcessInbox(const InProcessInbox&) = delete;

  struct Letter {
    bool is_last = true;
    Rank from{0};
    Topic topic = 0;
    Bytes message = {};
  };
  void put(Letter letter) {
    const std::lock_guard lock(mutex_);
    letters_.push_back(std::move(letter));
    changed_.notify_one();
  }
  Dispatcher& dispatcher() { return dispatcher_; }

 private:
  void run() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !letters_.empty(); });
      const Letter letter = std::move(letters_.front());
      letters_.pop_front();
      lock.unlock();
      if (letter.is_last) return;
      dispatcher_.deliver(letter.from, letter.topic, letter.message);
    }
  }

  Dispatcher dispatcher_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Letter> letters_;
  std::thread thread_;
};

/// What the sessions of one job have in common.
struct InProcessJob {
  struct Brought {
    std::string key;
    Bytes bytes;
  };
  using Exchange = std::map<Rank, Brought>;

  explicit InProcessJob(int ranks) : rank_count(ranks), inboxes(static_cast<std::size_t>(ranks)) {}

  const int rank_count;
  std::mutex mutex;  ///< guards what follows
  std::condition_variable changed;
  std::map<std::pair<std::vector<Rank>, std::uint64_t>, Exchange> exchanges;
  std::vector<LostRank> lost;
  std::map<Rank, std::optional<Cause>> causes;  ///< that ranks have told
  std::vector<InProcessInbox> inboxes;
};

class InProcessSession final : public Session, Courier {
 public:
  InProcessSession(std::shared_ptr<InProcessJob> job, Rank self)
      : job_(std::move(job)), self_(self), survivors_(this, self, [this] { return lost(); }) {}
  /// One per rank.
  static std::vector<std::shared_ptr<Session>> make(int rank_count) {
    auto job = std::make_shared<InProcessJob>(rank_count);
    std::vector<std::shared_ptr<Session>> sessions;
    for (Rank rank : indices<Rank>(rank_count))
      sessions.push_back(std::make_shared<InProcessSession>(job, rank));
    return sessions;
  }

  Rank rank() const override { return self_; }
  int rank_count() const override { return job_->rank_count; }
  int host_of(Rank rank) const override { return rank; }

  std::vector<Bytes> exchange(const std::vector<Rank>& members, std::string_view key,
                              std::span<const std::byte> own, const Deadline& deadline) override {
    check(members);
    if (own.size() > kMostExchanged || key.size() > kLongestKey) throw ArgumentError("too large an exchange");
    std::unique_lock lock(job_->mutex);
    auto& all = job_->exchanges[{members, exchanges_so_far_[members]}];
    all.try_emplace(self_, std::string(key), Bytes(own.begin(), own.end()));
    job_->changed.notify_all();
    while (all.size() < members.size()) {
      for (const LostRank& lost : job_->lost)
        if (std::ranges::find(members, lost.rank) != members.end() && !all.contains(lost.rank))
          throw_for(lost.cause(), lost.rank, lost.cause().text());
      deadline.check();
      if (deadline.passed()) throw TimeoutError(missing(members, all));
      job_->changed.wait_for(lock, std::chrono::milliseconds(deadline.milliseconds_left(20)));
    }
    ++exchanges_so_far_[members];
    std::vector<Bytes> everybodys;
    for (const auto& [rank, brought] : all) {
      if (brought.key != key)
        throw MismatchError("rank " + std::to_string(rank) + " exchanges '" + brought.key + "', this one '" +
                            std::string(key) + "'");
      everybodys.push_back(brought.bytes);
    }
    return everybodys;
  }

  std::shared_ptr<SharedRegion> shared(const std::vector<Rank>& members, std::size_t,
                                       const Deadline&) override {
    check(members);
    return nullptr;
  }

  std::vector<Rank> next_members(const std::vector<Rank>& members, std::string_view name,
                                 const Wishes& wishes, const Deadline& deadline) override {
    check(members);
    const SurvivorsDesk::Ask ask{.leaves = wishes.leaves, .next_number = Rank{rank_count()}};
    return survivors_.next_members(members, name, ask, deadline).members;
  }

  std::vector<LostRank> lost() const override {
    const std::lock_guard lock(job_->mutex);
    std::vector<LostRank> lost = job_->lost;
    for (LostRank& one : lost)
      if (const auto told = job_->causes.find(one.rank); told != job_->causes.end())
        one.gave_up_for = told->second;
    return lost;
  }
  /// What happens when a rank dies, as far as the others can see.
  void lose(Rank rank, std::string reason) {
    const std::lock_guard lock(job_->mutex);
    job_->lost.push_back({rank, std::move(reason)});
    job_->changed.notify_all();
  }

  Courier* courier() override { return this; }
  void send(Rank to, Topic topic, Bytes message) override {
    inbox(to).put({false, self_, topic, std::move(message)});
  }
  void tell_all(Topic topic, Bytes message) override {
    for (Rank rank : indices<Rank>(rank_count()))
      if (rank != self_) send(rank, topic, message);
  }
  std::unique_ptr<Subscription> subscribe(Topic topic, Handler handler) override {
    return inbox(self_).dispatcher().subscribe(topic, std::move(handler));
  }

  ClockReading clock() const override {
    return {std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(), 0};
  }

 protected:
  void publish_cause(const std::optional<Cause>& cause) override {
    const std::lock_guard lock(job_->mutex);
    job_->causes[self_] = cause;
  }

 private:
  InProcessInbox& inbox(Rank rank) { return job_->inboxes[static_cast<std::size_t>(rank)]; }
  void check(const std::vector<Rank>& members) const {
    for (Rank member : members)
      if (member < 0 || member >= rank_count()) throw ArgumentError("a member is out of range");
    if (std::ranges::adjacent_find(members, std::greater_equal<>()) != members.end() ||
        std::ranges::find(members, self_) == members.end())
      throw ArgumentError("members are not sorted, or without this rank");
  }
  static std::string missing(const std::vector<Rank>& members, const InProcessJob::Exchange& all) {
    std::string text = "did not come:";
    for (Rank member : members)
      if (!all.contains(member)) text += " rank " + std::to_string(member);
    return text;
  }

  std::shared_ptr<InProcessJob> job_;
  Rank self_;
  std::map<std::vector<Rank>, std::uint64_t> exchanges_so_far_;  ///< guarded by the job's mutex
  SurvivorsDesk survivors_;
};

}  // namespace hemiola::testing
