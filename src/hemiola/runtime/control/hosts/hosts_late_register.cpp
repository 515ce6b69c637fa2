// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/control/hosts/hosts_late_register.hpp"

#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/control/late_word.hpp"

namespace hemiola::hosts {
namespace {

enum class Kind : std::uint32_t { arrive, load, exchange, await_arrivals, word };

struct Told {
  std::uint64_t number = 0;
  std::uint64_t word = 0;
};

}  // namespace

LateKeeper::LateKeeper(std::shared_ptr<const Talk> talk) : talk_(std::move(talk)) {
  subscription_ =
      talk_->as_keeper([this](Rank from, std::span<const std::byte> message) { hear(from, message); });
}

void LateKeeper::hear(Rank from, std::span<const std::byte> message) {
  const auto asked = body_of<LateAsked>(message);
  const auto member_count = static_cast<std::uint64_t>(talk_->members().count());
  const bool counts =
      kind_of<Kind>(message) == Kind::arrive || kind_of<Kind>(message) == Kind::await_arrivals;
  if (counts && asked.expected > member_count)
    throw FormatError("arrivals of " + std::to_string(asked.expected) + " members of " +
                      std::to_string(member_count));
  std::uint64_t& word = words_[asked.operation % 2];
  switch (kind_of<Kind>(message)) {
    case Kind::arrive:
      word = LateWord(word, asked.operation).with_arrival(from, static_cast<int>(asked.expected)).bits();
      answer(from, asked);
      return answer_waiting();
    case Kind::load:
      return answer(from, asked);
    case Kind::await_arrivals:
      return is_due(asked) ? answer(from, asked) : waiting_.push_back({from, asked});
    case Kind::exchange:
      answer(from, asked);
      if (word == asked.expected) word = asked.desired;
      return answer_waiting();
    case Kind::word:
      break;
  }
}

void LateKeeper::answer_waiting() {
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (!is_due(one.asked)) return false;
    answer(one.rank, one.asked);
    return true;
  });
}

void LateKeeper::answer(Rank to, const LateAsked& asked) const {
  talk_->tell(to, packed(Kind::word, Told{asked.number, words_[asked.operation % 2]}));
}

bool LateKeeper::is_due(const LateAsked& asked) const {
  const LateWord word(words_[asked.operation % 2], asked.operation);
  return static_cast<std::uint64_t>(word.arrivals()) >= asked.expected;
}

HostsLateRegister::HostsLateRegister(std::shared_ptr<const Talk> talk)
    : talk_(std::move(talk)), replies_(talk_) {
  if (talk_->keeps()) keeper_ = std::make_unique<LateKeeper>(talk_);
  subscription_ = talk_->as_member([this](Rank, std::span<const std::byte> message) {
    const Told told = body_of<Told>(message);
    replies_.arrive(told.number, told.word);
  });
}

/// The keeper knows the asking rank.
std::uint64_t HostsLateRegister::arrive(std::uint64_t operation, Rank, int rank_count, const Check& check) {
  const std::uint64_t number = replies_.number();
  const LateAsked asked{number, operation, static_cast<std::uint64_t>(rank_count)};
  talk_->tell_keeper(packed(Kind::arrive, asked));
  return replies_.await(number, check);
}

std::uint64_t HostsLateRegister::load(std::uint64_t operation, const Check& check) {
  const std::uint64_t number = replies_.number();
  talk_->tell_keeper(packed(Kind::load, LateAsked{number, operation}));
  return replies_.await(number, check);
}

bool HostsLateRegister::compare_exchange(std::uint64_t operation, std::uint64_t& expected,
                                         std::uint64_t desired, const Check& check) {
  const std::uint64_t number = replies_.number();
  talk_->tell_keeper(packed(Kind::exchange, LateAsked{number, operation, expected, desired}));
  const std::uint64_t found = replies_.await(number, check);
  return std::exchange(expected, found) == found;
}

void HostsLateRegister::await_arrivals(std::uint64_t operation, int count, const Check& check) {
  const std::uint64_t number = replies_.number();
  const LateAsked asked{number, operation, static_cast<std::uint64_t>(count)};
  talk_->tell_keeper(packed(Kind::await_arrivals, asked));
  replies_.await(number, check);
}

}  // namespace hemiola::hosts
