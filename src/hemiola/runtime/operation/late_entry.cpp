// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/operation/late_entry.hpp"

namespace hemiola {

void LateEntry::step(LateRegister* words, const LateRegister::Check& check) {
  switch (phase_) {
    case Phase::arriving:
      return arrive(words, check);
    case Phase::waiting:
      raw_ = words->load(operation_, check);
      seen_ = LateWord(raw_, operation_);
      if (seen_.arrivals() >= rank_count_ - 1) phase_ = Phase::choosing;
      return;
    case Phase::choosing:
      return choose(words, check);
    case Phase::reducing:
    case Phase::settled:
      return;
  }
}

/// True when the word was the last seen one and is now `after`; otherwise its value has been seen.
bool LateEntry::exchange(LateRegister* words, LateWord after, const LateRegister::Check& check) {
  std::uint64_t expected = raw_;
  if (words->compare_exchange(operation_, expected, after.bits(), check)) {
    seen_ = after;
    raw_ = after.bits();
    return true;
  }
  raw_ = expected;
  seen_ = LateWord(expected, operation_);
  return false;
}

void LateEntry::arrive(LateRegister* words, const LateRegister::Check& check) {
  raw_ = words->arrive(operation_, self_, rank_count_, check);
  seen_ = LateWord(raw_, operation_);
  if (seen_.arrivals() == rank_count_)
    phase_ = Phase::settled;
  else
    phase_ = seen_.arrivals() == rank_count_ - 1 ? Phase::choosing : Phase::waiting;
}

/// Segments are begun in order, by the rank that comes to them first; once the late rank is there, no more.
void LateEntry::choose(LateRegister* words, const LateRegister::Check& check) {
  if (seen_.begun() > segment_)
    phase_ = Phase::reducing;
  else if (seen_.arrivals() == rank_count_)
    phase_ = Phase::settled;
  else if (exchange(words, seen_.with_segment(), check))
    phase_ = Phase::reducing;
}

}  // namespace hemiola
