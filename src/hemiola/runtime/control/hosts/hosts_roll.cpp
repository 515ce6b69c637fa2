// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/control/hosts/hosts_roll.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace hemiola::hosts {
namespace {

enum class Kind : std::uint32_t {
  word,       ///< to the keeper and, once words are called for, from it to all
  call,       ///< to the keeper: words are wanted
  called,     ///< the keeper: tell me yours
  agreed,     ///< the keeper: Agreed; with an Arrival of each where these are wanted
  completed,  ///< to the keeper and on to all: of an operation whose words were called for
};

struct About {
  std::uint64_t number = 0;
  Rank rank{0};
};

/// All have come and say the same.
struct Agreed {
  std::uint64_t number = 0;
  std::uint64_t is_called = 0;  ///< somebody calls for the next members
};

/// Of every member, or of none.
std::vector<Arrival> arrivals_in(std::span<const std::byte> message, int member_count) {
  const auto bytes = after_body<Agreed>(message);
  return items_of<Arrival>(bytes, bytes.empty() ? 0 : static_cast<std::size_t>(member_count));
}

SaidWord word_in(std::span<const std::byte> message) {
  const auto word = body_of<SaidWord>(message, offsetof(SaidWord, complaint));
  if (word.complains == 0) return word;
  auto complaint = body_of<SaidWord>(message);
  complaint.complaint.characters.back() = '\0';
  return complaint;
}

Bytes packed_word(const SaidWord& word) {
  return packed(Kind::word, word, {}, word.complains != 0 ? sizeof word : offsetof(SaidWord, complaint));
}

}  // namespace

// ---- the keeper ----

RollKeeper::RollKeeper(std::shared_ptr<const Talk> talk) : talk_(std::move(talk)) {
  subscription_ =
      talk_->as_keeper([this](Rank from, std::span<const std::byte> message) { hear(from, message); });
}

void RollKeeper::hear(Rank from, std::span<const std::byte> message) {
  switch (kind_of<Kind>(message)) {
    case Kind::word: {
      const SaidWord word = word_in(message);
      talk_->check_sender(word.rank, from);
      return take(word);
    }
    case Kind::call:
      return call(body_of<About>(message).number);
    case Kind::completed:
      return talk_->tell_members(packed(Kind::completed, About{body_of<About>(message).number, from}));
    case Kind::called:
    case Kind::agreed:
      break;
  }
}

/// Ranks are in the same operation or in two that follow each other; older ones are over.
RollKeeper::Tally* RollKeeper::tally(std::uint64_t number) {
  if (!tallies_.empty() && number + 2 <= tallies_.rbegin()->first) return nullptr;
  std::erase_if(tallies_, [&](const auto& one) { return one.first + 2 <= number; });
  Tally& found = tallies_[number];
  found.words.resize(static_cast<std::size_t>(talk_->members().count()));
  return &found;
}

bool RollKeeper::agree(const Tally& tally) {
  for (const auto& word : tally.words)
    if (word->complains != 0 || !word->signature.agrees_with(tally.words.front()->signature)) return false;
  return true;
}

bool RollKeeper::is_called(const Tally& tally) {
  return std::ranges::any_of(tally.words, [](const auto& word) { return word->calls != 0; });
}

/// Words are taken in before anybody looks here; empty where nobody wants to know.
std::vector<Arrival> RollKeeper::arrivals(const Tally& tally) {
  std::vector<Arrival> arrivals;
  if (tally.words.front()->is_timed == 0) return arrivals;
  for (const auto& word : tally.words) arrivals.push_back(word->arrival);
  return arrivals;
}

void RollKeeper::take(const SaidWord& word) {
  Tally* const all = tally(word.number);
  if (!all) return;
  auto& place = all->words[static_cast<std::size_t>(word.rank)];
  if (place) return;
  place = word;
  if (all->is_wanted) talk_->tell_members(packed_word(word));
  if (++all->count < talk_->members().count()) return;
  if (!agree(*all)) return call(word.number);
  const std::vector<Arrival> told = arrivals(*all);
  const Agreed agreed{word.number, is_called(*all) ? 1u : 0u};
  talk_->tell_members(packed(Kind::agreed, agreed, std::as_bytes(std::span(told))));
}

void RollKeeper::call(std::uint64_t number) {
  Tally* const all = tally(number);
  if (!all || all->is_wanted) return;
  all->is_wanted = true;
  talk_->tell_members(packed(Kind::called, About{number, Talk::kKeeper}));
  for (const auto& word : all->words)
    if (word) talk_->tell_members(packed_word(*word));
}

// ---- a member ----

HostsRoll::HostsRoll(std::shared_ptr<const Talk> talk, std::shared_ptr<Progress> progress)
    : talk_(std::move(talk)),
      progress_(std::move(progress)),
      words_(static_cast<std::size_t>(talk_->members().count())) {
  if (talk_->keeps()) keeper_ = std::make_unique<RollKeeper>(talk_);
  subscription_ = talk_->as_member([this](Rank, std::span<const std::byte> message) { hear(message); });
}

void HostsRoll::publish(std::uint64_t number, const Word& word) {
  const std::lock_guard lock(mutex_);
  SaidWord& own = words_[static_cast<std::size_t>(talk_->members().self)][number % 2];
  own.number = number;
  own.arrival = word.arrival;
  own.rank = talk_->members().self;
  own.complains = word.complaint.empty() ? 0 : 1;
  own.is_timed = word.is_timed ? 1 : 0;
  own.calls = word.calls ? 1 : 0;
  own.signature = word.signature;
  if (own.complains != 0) own.complaint.write(word.complaint);
  published_ = number + 1;
  arrivals_[number % 2].clear();
  if (wanted_ == number + 1 || word.is_timed) send_own(number);
}

/// Its word goes first, so that the keeper has it when it hears the call.
void HostsRoll::call(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  send_own(number);
  talk_->tell_keeper(packed(Kind::call, About{number, talk_->members().self}));
}

void HostsRoll::vote(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  send_own(number);
}

void HostsRoll::send_own(std::uint64_t number) {
  const SaidWord* const own = known(talk_->members().self, number);
  if (!own || sent_[number % 2] == number + 1) return;
  sent_[number % 2] = number + 1;
  talk_->tell_keeper(packed_word(*own));
}

void HostsRoll::hear(std::span<const std::byte> message) {
  const std::lock_guard lock(mutex_);
  switch (kind_of<Kind>(message)) {
    case Kind::word:
      return hear_word(word_in(message));
    case Kind::called: {
      const std::uint64_t number = body_of<About>(message).number;
      wanted_ = std::max(wanted_, number + 1);
      return send_own(number);
    }
    case Kind::agreed: {
      const auto [number, is_called] = body_of<Agreed>(message);
      agreed_ = std::max(agreed_, number + 1);
      if (is_called != 0) called_ = std::max(called_, number + 1);
      if (published_ == number + 1) arrivals_[number % 2] = arrivals_in(message, talk_->members().count());
      for (Rank rank : indices<Rank>(talk_->members().count())) progress_->note(rank, number);
      return;
    }
    case Kind::completed: {
      const About about = body_of<About>(message);
      return progress_->note(talk_->checked(about.rank), about.number + 1);
    }
    case Kind::call:
      break;
  }
}

/// A rank that has come to an operation has completed the one before.
void HostsRoll::hear_word(const SaidWord& word) {
  progress_->note(talk_->checked(word.rank), word.number);
  SaidWord& place = words_[static_cast<std::size_t>(word.rank)][word.number % 2];
  if (word.rank != talk_->members().self) place = word;
}

const SaidWord* HostsRoll::known(Rank rank, std::uint64_t number) const {
  const SaidWord& word = words_[static_cast<std::size_t>(rank)][number % 2];
  const bool is_own = rank == talk_->members().self && published_ <= number;
  return word.number == number && !is_own ? &word : nullptr;
}

bool HostsRoll::has_arrived(Rank rank, std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return agreed_ > number || known(rank, number) != nullptr;
}

/// If all agree, each has this rank's signature.
Roll::Entry HostsRoll::entry(Rank rank, std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  if (const SaidWord* const word = known(rank, number))
    return {word->signature, word->complains != 0 ? word->complaint.view() : std::string_view(),
            word->arrival};
  const SaidWord& own = words_[static_cast<std::size_t>(talk_->members().self)][number % 2];
  const std::vector<Arrival>& told = arrivals_[number % 2];
  return {own.signature, {}, told.empty() ? Arrival{} : told[static_cast<std::size_t>(rank)]};
}

/// All words are known, or the keeper has read them all.
bool HostsRoll::is_called(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  bool calls = called_ == number + 1;
  for (Rank rank : indices<Rank>(talk_->members().count()))
    if (const SaidWord* const word = known(rank, number)) calls |= word->calls != 0;
  return calls;
}

void HostsRoll::complete(std::uint64_t number) {
  progress_->note(talk_->members().self, number + 1);
  const std::lock_guard lock(mutex_);
  if (wanted_ > number) talk_->tell_keeper(packed(Kind::completed, About{number, talk_->members().self}));
}

bool HostsRoll::has_completed(Rank rank, std::uint64_t number) const {
  return progress_->completed(rank) > number;
}

}  // namespace hemiola::hosts
