// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/session/hosts/cause_desk.hpp"

#include <utility>

#include "hemiola/runtime/session/hosts/packing.hpp"
#include "hemiola/runtime/session/hosts/topics.hpp"

namespace hemiola {

CauseDesk::CauseDesk(Courier* courier, Gone gone) : courier_(courier), gone_(std::move(gone)) {
  subscription_ = courier_->subscribe(
      kCause, [this](Rank from, std::span<const std::byte> message) { hear(from, message); });
}

/// News of a rank that leaves afterwards comes by the same ways, and later.
void CauseDesk::publish(const std::optional<Cause>& cause) {
  const std::lock_guard lock(mutex_);
  Packer packer;
  packer.put(++published_);
  if (cause) packer.put(CauseRecord::of(*cause));
  courier_->tell_all(kCause, packer.take());
}

void CauseDesk::hear(Rank from, std::span<const std::byte> message) {
  Unpacker content(message);
  Word word{content.get<std::uint64_t>(), std::nullopt};
  if (!content.is_empty()) {
    auto record = content.get<CauseRecord>();
    record.reason.characters.back() = '\0';
    word.cause = record.cause();
  }
  const std::lock_guard lock(mutex_);
  if (word.number > words_[from].number) words_[from] = std::move(word);
}

std::vector<LostRank> CauseDesk::lost() const {
  std::vector<LostRank> lost = gone_();
  if (lost.empty()) return lost;
  const std::lock_guard lock(mutex_);
  for (LostRank& one : lost)
    if (const auto word = words_.find(one.rank); word != words_.end()) one.gave_up_for = word->second.cause;
  return lost;
}

}  // namespace hemiola
