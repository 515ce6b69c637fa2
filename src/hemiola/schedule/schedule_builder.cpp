// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/heedful.hpp"
#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

ScheduleBuilder::ScheduleBuilder(Collective collective) : collective_(std::move(collective)) {}

void ScheduleBuilder::check(const Transfer& t) const {
  const auto text = [&] {
    return "transfer (step " + std::to_string(t.step) + ", " + std::to_string(t.src) + " -> " +
           std::to_string(t.dst) + ", chunk " + std::to_string(t.chunk) + "): ";
  };
  const int ranks = collective_.rank_count();
  if (t.step < 0 || t.step >= kMaxSteps) throw ArgumentError(text() + "expected a step in 0 … 2^24-1");
  if (t.src < 0 || t.src >= ranks || t.dst < 0 || t.dst >= ranks)
    throw ArgumentError(text() + "expected ranks in 0 … " + std::to_string(ranks - 1));
  if (t.src == t.dst && t.src_slot == t.dst_slot)
    throw ArgumentError(text() + "a transfer must join two different ranks, or two slots of one");
  for (const std::int32_t slot : {t.src_slot, t.dst_slot}) {
    const std::int64_t most = std::min<std::int64_t>(kMaxScratch, kMaxSlots / ranks - 1);
    if (slot < 0 || slot > most)
      throw ArgumentError(text() + "expected slots in 0 … " + std::to_string(most) + ", found " +
                          std::to_string(slot));
  }
  if (t.chunk < 0 || t.chunk >= collective_.chunk_count())
    throw ArgumentError(text() + "expected a chunk in 0 … " + std::to_string(collective_.chunk_count() - 1));
}

void ScheduleBuilder::add(const Transfer& t) {
  constexpr std::size_t kBetween = 1 << 16;
  check(t);
  if (link_.size() % kBetween == 0) heed_interrupt(kBetween);
  if (runs_.empty() || runs_.back().step != t.step)
    runs_.push_back({t.step, static_cast<std::int64_t>(link_.size())});
  link_.push_back(pairs_.number_of({t.src, t.dst, t.src_slot, t.dst_slot}));
  chunk_reduce_.push_back(static_cast<std::uint32_t>(t.chunk) << 1 | (t.reduce ? 1u : 0u));
}

void ScheduleBuilder::reserve(std::int64_t transfer_count) {
  link_.reserve(static_cast<std::size_t>(transfer_count));
  chunk_reduce_.reserve(static_cast<std::size_t>(transfer_count));
}

void ScheduleBuilder::set_chunk_weights(std::vector<std::int64_t> weights) {
  if (weights.size() != static_cast<std::size_t>(collective_.chunk_count()))
    throw ArgumentError("chunk_weights: expected one per chunk (" +
                        std::to_string(collective_.chunk_count()) + "), found " +
                        std::to_string(weights.size()));
  __int128 total = 0;
  for (std::int64_t w : weights) {
    if (w < 0) throw ArgumentError("chunk_weights: expected integers >= 0, found " + std::to_string(w));
    total += w;
  }
  if (total < 1 || total > (static_cast<__int128>(1) << 62))
    throw ArgumentError("chunk_weights: expected a sum in 1 … 2^62");
  if (std::all_of(weights.begin(), weights.end(), [&](std::int64_t w) { return w == weights[0]; }))
    weights.clear();
  weights_ = std::move(weights);
}

/// The first transfer of each step, once all are in step order.
std::vector<std::int64_t> ScheduleBuilder::step_offsets() const {
  int step_count = 0;
  for (const Run& run : runs_) step_count = std::max(step_count, run.step + 1);
  std::vector<std::int64_t> offset(static_cast<std::size_t>(step_count) + 1);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const std::int64_t end =
        i + 1 < runs_.size() ? runs_[i + 1].begin : static_cast<std::int64_t>(link_.size());
    offset[static_cast<std::size_t>(runs_[i].step) + 1] += end - runs_[i].begin;
  }
  std::partial_sum(offset.begin(), offset.end(), offset.begin());
  return offset;
}

bool ScheduleBuilder::steps_ascend() const {
  return std::is_sorted(runs_.begin(), runs_.end(),
                        [](const Run& a, const Run& b) { return a.step < b.step; });
}

/// A counting sort of the runs by step.
void ScheduleBuilder::gather_steps(const std::vector<std::int64_t>& step_offset) {
  std::vector<std::uint32_t> link, chunk_reduce;
  heedful_resize(&link, link_.size());
  heedful_resize(&chunk_reduce, link_.size());
  std::vector<std::int64_t> next(step_offset.begin(), step_offset.end() - 1);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const std::int64_t begin = runs_[i].begin;
    const std::int64_t end =
        i + 1 < runs_.size() ? runs_[i + 1].begin : static_cast<std::int64_t>(link_.size());
    std::int64_t& to = next[static_cast<std::size_t>(runs_[i].step)];
    std::copy(link_.begin() + begin, link_.begin() + end, link.begin() + to);
    std::copy(chunk_reduce_.begin() + begin, chunk_reduce_.begin() + end, chunk_reduce.begin() + to);
    to += end - begin;
    heed_interrupt(end - begin);
  }
  link_ = std::move(link);
  chunk_reduce_ = std::move(chunk_reduce);
}

void ScheduleBuilder::renumber_pairs(std::vector<RankPair>* sorted) {
  const std::vector<RankPair>& pairs = pairs_.pairs();
  std::vector<std::uint32_t> order, number;
  heedful_resize(&order, pairs.size());
  std::iota(order.begin(), order.end(), 0u);
  heedful_sort(order.begin(), order.end(),
               [&](std::uint32_t a, std::uint32_t b) { return pairs[a] < pairs[b]; });
  heedful_resize(&number, pairs.size());
  sorted->reserve(pairs.size());
  for_heedful_blocks(pairs.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      number[order[i]] = static_cast<std::uint32_t>(i);
      sorted->push_back(pairs[order[i]]);
    }
  });
  for_heedful_blocks(link_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) link_[i] = number[link_[i]];
  });
}

/// Sorts by (pair, chunk, reduce), which is (src, dst, slots, chunk, reduce) once pairs are numbered in order.
void ScheduleBuilder::sort_step(std::size_t begin, std::size_t end) {
  const auto key = [&](std::size_t i) {
    return static_cast<std::uint64_t>(link_[i]) << 32 | chunk_reduce_[i];
  };
  bool sorted = true;
  for (std::size_t i = begin + 1; i < end && sorted; ++i) sorted = key(i - 1) <= key(i);
  heed_interrupt(static_cast<std::int64_t>(end - begin));
  if (sorted) return;
  keys_.clear();
  keys_.reserve(end - begin);
  for_heedful_blocks(begin, end, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) keys_.push_back(key(i));
  });
  heedful_sort(keys_.begin(), keys_.end());
  for_heedful_blocks(begin, end, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      link_[i] = static_cast<std::uint32_t>(keys_[i - begin] >> 32);
      chunk_reduce_[i] = static_cast<std::uint32_t>(keys_[i - begin]);
    }
  });
}

Schedule ScheduleBuilder::finish() {
  Schedule s(std::move(collective_));
  s.chunk_weights_ = std::exchange(weights_, {});
  s.step_offset_ = step_offsets();
  if (!steps_ascend()) gather_steps(s.step_offset_);
  runs_ = {};
  renumber_pairs(&s.pairs_);
  s.scratch_count_ = scratch_count_of(s.pairs_);
  pairs_ = {};
  for (std::size_t t = 0; t + 1 < s.step_offset_.size(); ++t)
    sort_step(static_cast<std::size_t>(s.step_offset_[t]), static_cast<std::size_t>(s.step_offset_[t + 1]));
  s.reduce_.assign((link_.size() + 63) / 64, 0);
  for_heedful_blocks(link_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      s.reduce_[i / 64] |= static_cast<std::uint64_t>(chunk_reduce_[i] & 1) << (i % 64);
      chunk_reduce_[i] >>= 1;
    }
  });
  s.link_ = std::exchange(link_, {});
  s.chunk_ = std::exchange(chunk_reduce_, {});
  s.digest_ = s.compute_digest();
  return s;
}

}  // namespace hemiola
