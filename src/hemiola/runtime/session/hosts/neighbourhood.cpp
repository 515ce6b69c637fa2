// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/neighbourhood.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "hemiola/runtime/session/local/local_session.hpp"

namespace hemiola {

void Neighbourhood::take(std::shared_ptr<LocalSession> session, const Hash128& host) {
  const std::unique_lock lock(mutex_);
  session_ = std::move(session);
  host_ = host;
}

std::shared_ptr<LocalSession> Neighbourhood::session() const {
  const std::shared_lock lock(mutex_);
  return session_;
}

Neighbourhood::Place Neighbourhood::own_place() const {
  const std::shared_lock lock(mutex_);
  if (!session_) return {};
  Hasher hasher;
  for (const std::uint64_t word : {host_.high, host_.low, session_->memory_number()}) hasher.add(word);
  return {hasher.finish(), session_->rank()};
}

void Neighbourhood::note_host(Rank founder, int host) {
  const std::unique_lock lock(mutex_);
  hosts_[founder] = host;
}

void Neighbourhood::note_neighbour(Rank rank, Rank number) {
  const std::unique_lock lock(mutex_);
  numbers_[rank] = number;
}

void Neighbourhood::settle(const std::vector<Rank>& members, const std::vector<Place>& places) {
  const Place own = own_place();
  const std::unique_lock lock(mutex_);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (own.shares() && places[i].shares() && places[i].memory == own.memory)
      numbers_[members[i]] = places[i].number;
    if (members[i] < founder_count_) continue;
    int host = members[i];
    for (std::size_t j = 0; j < i && places[i].shares(); ++j)
      if (places[j].shares() && places[j].memory == places[i].memory)
        host = std::min(host, hosts_.at(members[j]));
    hosts_[members[i]] = host;
  }
  if (session_) session_->meet_entered();
}

int Neighbourhood::host_of(Rank rank) const {
  const std::shared_lock lock(mutex_);
  const auto found = hosts_.find(rank);
  return found != hosts_.end() ? found->second : -1;
}

std::vector<Rank> Neighbourhood::numbers_of(const std::vector<Rank>& members) const {
  const std::shared_lock lock(mutex_);
  std::vector<Rank> numbers;
  for (Rank member : members) {
    const auto found = numbers_.find(member);
    if (!session_ || found == numbers_.end()) return {};
    numbers.push_back(found->second);
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::optional<Rank> Neighbourhood::rank_of(Rank number) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [rank, its_number] : numbers_)
    if (its_number == number) return rank;
  return std::nullopt;
}

bool Neighbourhood::is_first_of_host(const std::vector<Rank>& members) const {
  const std::shared_lock lock(mutex_);
  return session_ && std::ranges::none_of(
                         members, [&](Rank member) { return member < self_ && numbers_.contains(member); });
}

}  // namespace hemiola
