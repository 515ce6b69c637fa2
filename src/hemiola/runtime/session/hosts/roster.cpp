// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/roster.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/net/random_bytes.hpp"
#include "hemiola/runtime/session/hosts/packing.hpp"
#include "hemiola/runtime/session/hosts/topics.hpp"

namespace hemiola {
namespace {

/// How long rank 0 stays after something went wrong, to tell those who come later.
constexpr auto kStay = std::chrono::seconds(2);

std::string host_name() {
  std::array<char, 65> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

Roster::Roster(Courier* courier, Rank self, int rank_count, std::string job)
    : courier_(courier), self_(self), rank_count_(rank_count), job_(std::move(job)) {
  using Content = std::span<const std::byte>;
  if (self_ == 0)
    subscriptions_.push_back(
        courier_->subscribe(kJoining, [this](Rank from, Content content) { hear_joining(from, content); }));
  subscriptions_.push_back(
      courier_->subscribe(kRefusal, [this](Rank, Content content) { hear_refusal(content); }));
}

void Roster::sign() {
  std::uint64_t number = 0;
  fill_randomly(std::as_writable_bytes(std::span(&number, 1)));
  courier_->send(Rank{0}, kJoining,
                 Packer()
                     .put(std::int32_t{rank_count_})
                     .put(std::int32_t{::getpid()})
                     .put(number)
                     .put_text(host_name())
                     .take());
}

void Roster::check() const {
  const std::lock_guard lock(mutex_);
  if (!mistake_.empty()) throw ArgumentError(mistake_);
}

void Roster::stay() const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kStay, [&] { return std::cmp_greater_equal(processes_.size(), rank_count_); });
}

/// A rank that comes after a mistake is told of it, and all the others are told again.
void Roster::hear_joining(Rank from, std::span<const std::byte> message) {
  Unpacker content(message);
  Entry entry{.rank_count = content.get<std::int32_t>(),
              .process = content.get<std::int32_t>(),
              .number = content.get<std::uint64_t>(),
              .host = content.get_text()};
  const std::lock_guard lock(mutex_);
  processes_.insert(entry.number);
  if (mistake_.empty()) mistake_ = mistake(from, entry);
  entries_.try_emplace(from, std::move(entry));
  if (!mistake_.empty()) courier_->tell_all(kRefusal, Packer().put_text(mistake_).take());
  changed_.notify_all();
}

void Roster::hear_refusal(std::span<const std::byte> message) {
  const std::lock_guard lock(mutex_);
  if (mistake_.empty()) mistake_ = Unpacker(message).get_text();
}

/// Empty where there is none.
std::string Roster::mistake(Rank rank, const Entry& entry) const {
  const std::string job = "job '" + job_ + "'", name = "rank " + std::to_string(rank);
  if (entry.rank_count != rank_count_)
    return "rank 0 says that " + job + " has " + std::to_string(rank_count_) + " ranks, " + name + " (" +
           entry.text() + ") says " + std::to_string(entry.rank_count) +
           "; start all ranks with the same count";
  const auto before = entries_.find(rank);
  if (before == entries_.end() || before->second.number == entry.number) return "";
  return name + " of " + job + " was taken twice, by " + before->second.text() + " and by " + entry.text() +
         "; give every process its own rank, or another job's name";
}

}  // namespace hemiola
