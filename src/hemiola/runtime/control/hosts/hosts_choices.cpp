// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/control/hosts/hosts_choices.hpp"

#include <algorithm>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola::hosts {
namespace {

enum class Kind : std::uint32_t {
  claim,   ///< to the keeper
  look,    ///< to the keeper
  decide,  ///< to the keeper, with the decision
  answer,  ///< the keeper's
};

struct Asked {
  std::uint64_t number = 0;
  ChoiceKey key{};
};

struct Told {
  std::uint64_t number = 0;  ///< of the question; 0: nobody has asked, but a claim was refused
  ChoiceKey key{};
  Choices::Answer::State state = Choices::Answer::State::open;
  std::uint8_t is_yours = 0;
  Rank claimer{0};
};

Bytes packed_answer(std::uint64_t number, const ChoiceKey& key, const Choices::Answer& answer,
                    bool is_yours) {
  return packed(Kind::answer,
                Told{number, key, answer.state, static_cast<std::uint8_t>(is_yours ? 1 : 0), answer.claimer},
                answer.bytes);
}

}  // namespace

ChoiceKeeper::ChoiceKeeper(std::shared_ptr<const Talk> talk) : talk_(std::move(talk)) {
  subscription_ =
      talk_->as_keeper([this](Rank from, std::span<const std::byte> message) { hear(from, message); });
}

void ChoiceKeeper::hear(Rank from, std::span<const std::byte> message) {
  using State = Choices::Answer::State;
  const Kind kind = kind_of<Kind>(message);
  const Asked asked = body_of<Asked>(message);
  if (kind > Kind::decide)
    throw FormatError("a question of kind " + std::to_string(static_cast<std::uint32_t>(kind)));
  if (book_.is_outdated(asked.key)) {
    if (kind != Kind::decide)
      talk_->tell(from, packed_answer(asked.number, asked.key, {State::outdated, {}, {}}, false));
    return;
  }
  if (kind == Kind::look) {
    const Entry* const entry = book_.find(asked.key);
    return talk_->tell(
        from, packed_answer(asked.number, asked.key, entry ? entry->answer : Choices::Answer{}, false));
  }
  Entry& entry = book_[asked.key];
  if (kind == Kind::claim) {
    const bool is_yours = entry.answer.state == State::open;
    if (is_yours) entry.answer = {State::claimed, from, {}};
    if (entry.answer.state == State::claimed && !is_yours) entry.waiting.push_back(from);
    return talk_->tell(from, packed_answer(asked.number, asked.key, entry.answer, is_yours));
  }
  const auto bytes = after_body<Asked>(message);
  entry.answer = {State::decided, from, Bytes(bytes.begin(), bytes.end())};
  for (Rank rank : entry.waiting) talk_->tell(rank, packed_answer(0, asked.key, entry.answer, false));
  entry.waiting.clear();
}

HostsChoices::HostsChoices(std::shared_ptr<const Talk> talk, const Pulse* pulse)
    : talk_(std::move(talk)), pulse_(pulse), replies_(talk_) {
  if (talk_->keeps()) keeper_ = std::make_unique<ChoiceKeeper>(talk_);
  subscription_ = talk_->as_member([this](Rank, std::span<const std::byte> message) { hear(message); });
}

bool HostsChoices::claim(const ChoiceKey& key) {
  if (known(key)) return false;
  const Reply reply = ask(static_cast<std::uint32_t>(Kind::claim), key);
  if (reply.answer.state == Answer::State::claimed) note(key, reply.answer);
  return reply.is_yours;
}

/// A courier's messages have no bound, so no choice is too large.
void HostsChoices::decide(const ChoiceKey& key, std::span<const std::byte> bytes) {
  talk_->tell_keeper(packed(Kind::decide, Asked{0, key}, bytes));
  note(key, {Answer::State::decided, talk_->members().self, Bytes(bytes.begin(), bytes.end())});
}

/// A rank that claimed in vain is told as soon as there is an answer, and has no need to ask again.
Choices::Answer HostsChoices::look(const ChoiceKey& key) const {
  if (const auto found = known(key)) return *found;
  return ask(static_cast<std::uint32_t>(Kind::look), key).answer;
}

std::optional<Choices::Answer> HostsChoices::known(const ChoiceKey& key) const {
  const std::lock_guard lock(mutex_);
  if (known_.is_outdated(key)) return Answer{Answer::State::outdated, {}, {}};
  if (const Answer* const found = known_.find(key)) return *found;
  return std::nullopt;
}

HostsChoices::Reply HostsChoices::ask(std::uint32_t kind, const ChoiceKey& key) const {
  const std::uint64_t number = replies_.number();
  talk_->tell_keeper(packed(static_cast<Kind>(kind), Asked{number, key}));
  return replies_.await(number, [this] { check_keeper(); });
}

void HostsChoices::check_keeper() const {
  const Members& members = talk_->members();
  for (const Pulse::GivenUp& given_up : pulse_->given_up())
    if (given_up.rank == Talk::kKeeper && given_up.failure == Failure::closed)
      members.throw_for(given_up.cause, members.described(given_up.cause) + ", and " +
                                            members.name(Talk::kKeeper) + " kept the books for all");
}

void HostsChoices::note(const ChoiceKey& key, const Answer& answer) const {
  const std::lock_guard lock(mutex_);
  if (known_.is_outdated(key)) return;
  Answer& known = known_[key];
  if (known.state != Answer::State::decided) known = answer;
}

/// That a key is claimed is kept only after a claim of this rank's own, for only then will it be told of the decision.
void HostsChoices::hear(std::span<const std::byte> message) {
  if (kind_of<Kind>(message) != Kind::answer) return;
  const auto told = body_of<Told>(message);
  if (told.state > Answer::State::outdated) throw FormatError("an answer in a state that no choice has");
  talk_->checked(told.claimer);
  const auto bytes = after_body<Told>(message);
  const Answer answer{told.state, told.claimer, Bytes(bytes.begin(), bytes.end())};
  if (told.state == Answer::State::decided) note(told.key, answer);
  if (told.number != 0) replies_.arrive(told.number, {told.is_yours != 0, answer});
}

}  // namespace hemiola::hosts
