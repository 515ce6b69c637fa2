// SPDX-License-Identifier: Apache-2.0
#include "hemiola/verify/violation.hpp"

#include <array>
#include <utility>

namespace hemiola {

std::string_view name_of(Rule rule) {
  constexpr std::array<std::string_view, 12> kNames{"read_before_defined",
                                                    "reduce_into_undefined",
                                                    "reduce_not_allowed",
                                                    "copy_conflict",
                                                    "copy_reduce_conflict",
                                                    "counted_twice",
                                                    "missing_contribution",
                                                    "missing_chunk",
                                                    "leftover",
                                                    "no_link",
                                                    "over_capacity",
                                                    "redundant"};
  return kNames[static_cast<std::size_t>(rule)];
}

bool Report::admits(Rule rule, Step step, Rank rank, Chunk chunk) const {
  const Key key{step, chunk, rank, rule};
  if (kept_.contains(key)) return false;
  return kept_.size() < capacity_ || (capacity_ > 0 && key < kept_.rbegin()->first);
}

bool Report::is_full_before(Step step, Chunk chunk) const {
  return kept_.size() >= capacity_ &&
         (capacity_ == 0 || kept_.rbegin()->first < Key{step, chunk, Rank{0}, Rule{0}});
}

void Report::add(Violation v) {
  if (!admits(v.rule, v.step, v.rank, v.chunk)) return;
  kept_.emplace(Key{v.step, v.chunk, v.rank, v.rule}, std::move(v.message));
  if (kept_.size() > capacity_) kept_.erase(std::prev(kept_.end()));
}

void Report::merge(const Report& other) {
  for (Violation& v : other.finish()) add(std::move(v));
}

std::vector<Violation> Report::finish() const {
  std::vector<Violation> violations;
  violations.reserve(kept_.size());
  for (const auto& [key, message] : kept_) {
    const auto& [step, chunk, rank, rule] = key;
    violations.push_back({rule, step, rank, chunk, message});
  }
  return violations;
}

}  // namespace hemiola
