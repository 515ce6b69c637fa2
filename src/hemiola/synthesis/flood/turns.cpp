// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/flood/turns.hpp"

#include <algorithm>
#include <bit>

namespace hemiola::synthesis {

Turns::Turns(int speed_count, int rank_count)
    : rank_count_(static_cast<std::size_t>(rank_count)),
      waiting_(static_cast<std::size_t>(speed_count) * rank_count_),
      filled_(1, static_cast<int>(waiting_.size())) {}

void Turns::add(int speed, const Turn& turn) {
  const std::size_t at =
      static_cast<std::size_t>(speed) * rank_count_ + static_cast<std::size_t>(turn.passed);
  waiting_[at].push_back(turn);
  insert(filled_[0], static_cast<std::uint32_t>(at));
}

const Turn* Turns::next() {
  if (is_begun_ && taken_ < waiting_[at_].size()) return &waiting_[at_][taken_];
  if (is_begun_) {
    waiting_[at_].clear();
    remove(filled_[0], static_cast<std::uint32_t>(at_));
  }
  is_begun_ = false;
  taken_ = 0;
  const std::uint64_t* filled = filled_[0];
  std::size_t w = 0;
  while (w < filled_.words() && filled[w] == 0) ++w;
  if (w == filled_.words()) return nullptr;
  at_ = w * 64 + static_cast<std::size_t>(std::countr_zero(filled[w]));
  const auto by_channel = [](const Turn& a, const Turn& b) { return a.channel < b.channel; };
  if (!std::is_sorted(waiting_[at_].begin(), waiting_[at_].end(), by_channel))
    std::sort(waiting_[at_].begin(), waiting_[at_].end(), by_channel);
  is_begun_ = true;
  return waiting_[at_].data();
}

}  // namespace hemiola::synthesis
