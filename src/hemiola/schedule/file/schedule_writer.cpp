// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/heedful.hpp"
#include "hemiola/schedule/file/binary_layout.hpp"
#include "hemiola/schedule/file/checksum.hpp"
#include "hemiola/schedule/file/schedule_file.hpp"
#include "hemiola/schedule/file/size_limits.hpp"

namespace hemiola {

using namespace binary_layout;

ScheduleWriter::ScheduleWriter(const Collective& collective, std::span<const std::int64_t> weights,
                               std::span<const RankPair> pairs, ByteSink* sink)
    : rank_count_(collective.rank_count()),
      has_scratch_(scratch_count_of(pairs) > 0),
      chunk_count_(collective.chunk_count()),
      sink_(*sink) {
  for_heedful_blocks(pairs.size(), [&](std::size_t begin, std::size_t end) {
    for (const RankPair& pair : pairs.subspan(begin, end - begin)) pairs_.number_of(pair);
  });
  section_.add_bytes(std::as_bytes(std::span(kMagic)));
  section_.add_u32(has_scratch_ ? kVersionWithScratch : kVersion);
  section_.add_u32(0);
  write(section_.bytes());
  section_.clear();
  write_collective(collective, weights);
}

void ScheduleWriter::write(std::span<const std::byte> bytes) {
  sink_.write(bytes);
  written_ += static_cast<std::int64_t>(bytes.size());
}

/// A section is its length, its checksum and its bytes.
void ScheduleWriter::write_section() {
  SectionWriter header;
  header.add_u64(section_.bytes().size());
  header.add_u64(checksum(section_.bytes()));
  write(header.bytes());
  write(section_.bytes());
  section_.clear();
}

void ScheduleWriter::write_collective(const Collective& c, std::span<const std::int64_t> weights) {
  const auto add_places = [&](const std::vector<Collective::Place>& places) {
    std::vector<std::uint32_t> ranks, chunks;
    for (const auto& [rank, chunk] : places) {
      ranks.push_back(static_cast<std::uint32_t>(rank));
      chunks.push_back(static_cast<std::uint32_t>(chunk));
    }
    section_.add_u64(places.size());
    section_.add_column(ranks);
    section_.add_column(chunks);
  };
  section_.add_byte(static_cast<std::uint8_t>(c.kind()));
  section_.add_byte(c.is_reducing() ? 1 : 0);
  section_.add_u32(static_cast<std::uint32_t>(c.rank_count()));
  section_.add_u32(static_cast<std::uint32_t>(c.chunk_count()));
  section_.add_u32(static_cast<std::uint32_t>(c.root()));
  if (c.kind() == CollectiveKind::custom) {
    add_places(c.before());
    add_places(c.after());
  } else {
    const bool blockwise = c.chunk_count() <= kFreeChunks && c.has_block_owners();
    section_.add_byte(blockwise ? kBlockwise : kListed);
    const std::vector<std::uint32_t> owners(c.owner().begin(), c.owner().end());
    if (!blockwise) section_.add_column(owners);
  }
  section_.add_byte(weights.empty() ? kEqual : kWeighted);
  const std::vector<std::uint64_t> wide(weights.begin(), weights.end());
  if (!weights.empty()) section_.add_column(wide);
  write_section();
}

bool ScheduleWriter::ascends(Step step) const {
  if (step < 0 || step >= ScheduleBuilder::kMaxSteps) return false;
  return segment_step_.empty() ? static_cast<std::uint64_t>(step) + 1 >= step_count_
                               : static_cast<std::uint32_t>(step) >= segment_step_.back();
}

void ScheduleWriter::check(const Transfer& t) const {
  const auto is_rank = [&](Rank rank) { return rank >= 0 && rank < rank_count_; };
  const auto is_slot = [&](std::int32_t slot) {
    return slot >= 0 && slot <= (has_scratch_ ? ScheduleBuilder::kMaxScratch : 0);
  };
  const bool moves = t.src != t.dst || t.src_slot != t.dst_slot;
  if (!ascends(t.step) || !is_rank(t.src) || !is_rank(t.dst) || !is_slot(t.src_slot) ||
      !is_slot(t.dst_slot) || !moves || t.chunk < 0 || t.chunk >= chunk_count_)
    throw ArgumentError(
        "schedule writer: expected two ranks, a chunk and a step that exist, in ascending steps; found "
        "step " +
        std::to_string(t.step) + ", " + std::to_string(t.src) + " -> " + std::to_string(t.dst) + ", chunk " +
        std::to_string(t.chunk));
}

/// Begins a segment unless the last one is of this step, and a block where the last one is full.
void ScheduleWriter::enter(Step step) {
  if (link_.size() == kBlockTransfers) flush_block();
  if (segment_step_.empty() || segment_step_.back() != static_cast<std::uint32_t>(step)) {
    sort_last_segment();
    segment_step_.push_back(static_cast<std::uint32_t>(step));
    segment_size_.push_back(0);
  }
  step_count_ = static_cast<std::uint64_t>(step) + 1;
}

void ScheduleWriter::add(const Transfer& t) {
  check(t);
  enter(t.step);
  ++segment_size_.back();
  link_.push_back(pairs_.number_of({t.src, t.dst, t.src_slot, t.dst_slot}));
  chunk_.push_back(static_cast<std::uint32_t>(t.chunk));
  reduce_.push_back(t.reduce ? 1 : 0);
  ++transfer_count_;
}

void ScheduleWriter::add_copies(Step step, std::span<const std::uint32_t> pair,
                                std::span<const std::uint32_t> chunk) {
  if (chunk.empty()) return;
  if (!ascends(step) || pair.size() != chunk.size() || std::ranges::max(pair) >= pairs_.pairs().size() ||
      std::ranges::max(chunk) >= chunk_count_)
    throw ArgumentError(
        "schedule writer: expected pairs and chunks that exist, in ascending steps; found step " +
        std::to_string(step));
  for (std::size_t begin = 0, count = 0; begin < chunk.size(); begin += count) {
    enter(step);
    count = std::min(chunk.size() - begin, kBlockTransfers - link_.size());
    segment_size_.back() += static_cast<std::uint32_t>(count);
    link_.insert(link_.end(), pair.data() + begin, pair.data() + begin + count);
    chunk_.insert(chunk_.end(), chunk.data() + begin, chunk.data() + begin + count);
    reduce_.resize(link_.size(), 0);
    transfer_count_ += count;
  }
}

bool ScheduleWriter::is_last_segment_sorted() const {
  for (std::size_t i = link_.size() - segment_size_.back() + 1; i < link_.size(); ++i)
    if (link_[i - 1] > link_[i] ||
        (link_[i - 1] == link_[i] &&
         (chunk_[i - 1] > chunk_[i] || (chunk_[i - 1] == chunk_[i] && reduce_[i - 1] > reduce_[i]))))
      return false;
  return true;
}

/// By link, then chunk: ascending links take the fewest bytes.
void ScheduleWriter::sort_last_segment() {
  if (segment_size_.empty() || is_last_segment_sorted()) return;
  const std::size_t begin = link_.size() - segment_size_.back();
  const auto key = [&](std::size_t i) {
    return static_cast<std::uint64_t>(link_[i]) << 32 | static_cast<std::uint64_t>(chunk_[i]) << 1 |
           reduce_[i];
  };
  std::vector<std::uint64_t> keys;
  keys.reserve(segment_size_.back());
  for (std::size_t i = begin; i < link_.size(); ++i) keys.push_back(key(i));
  std::sort(keys.begin(), keys.end());
  for (std::size_t i = begin; i < link_.size(); ++i) {
    const std::uint64_t k = keys[i - begin];
    link_[i] = static_cast<std::uint32_t>(k >> 32);
    chunk_[i] = static_cast<std::uint32_t>(k) >> 1;
    reduce_[i] = k & 1;
  }
}

void ScheduleWriter::flush_block() {
  if (link_.empty()) return;
  heed_interrupt(static_cast<std::int64_t>(link_.size()));
  sort_last_segment();
  block_offset_.push_back(static_cast<std::uint64_t>(written_));
  block_step_.push_back(segment_step_.front());
  block_size_.push_back(static_cast<std::uint32_t>(link_.size()));
  section_.add_u32(static_cast<std::uint32_t>(segment_step_.size()));
  section_.add_u32(static_cast<std::uint32_t>(link_.size()));
  section_.add_column(segment_step_);
  section_.add_column(segment_size_);
  section_.add_column(link_);
  section_.add_column(chunk_);
  const auto reduces = static_cast<std::size_t>(std::count(reduce_.begin(), reduce_.end(), 1));
  section_.add_byte(reduces == 0 ? kNone : reduces == reduce_.size() ? kAll : kMixed);
  if (reduces != 0 && reduces != reduce_.size()) {
    std::vector<std::uint8_t> bits((reduce_.size() + 7) / 8);
    for (std::size_t i = 0; i < reduce_.size(); ++i)
      bits[i / 8] |= static_cast<std::uint8_t>(reduce_[i] << (i % 8));
    section_.add_bytes(std::as_bytes(std::span(bits)));
  }
  write_section();
  for (auto* column : {&segment_step_, &segment_size_, &link_, &chunk_}) column->clear();
  reduce_.clear();
}

void ScheduleWriter::write_footer() {
  std::vector<std::uint32_t> src, dst, src_slot, dst_slot;
  const std::span<const RankPair> pairs = pairs_.pairs();
  for_heedful_blocks(pairs.size(), [&](std::size_t begin, std::size_t end) {
    for (const RankPair& pair : pairs.subspan(begin, end - begin)) {
      src.push_back(static_cast<std::uint32_t>(pair.src));
      dst.push_back(static_cast<std::uint32_t>(pair.dst));
      src_slot.push_back(static_cast<std::uint32_t>(pair.src_slot));
      dst_slot.push_back(static_cast<std::uint32_t>(pair.dst_slot));
    }
  });
  section_.add_u64(step_count_);
  section_.add_u64(transfer_count_);
  section_.add_u64(src.size());
  section_.add_column(src);
  section_.add_column(dst);
  if (has_scratch_) {
    section_.add_column(src_slot);
    section_.add_column(dst_slot);
  }
  section_.add_u64(block_offset_.size());
  section_.add_column(block_offset_);
  section_.add_column(block_step_);
  section_.add_column(block_size_);
  write_section();
}

void ScheduleWriter::finish() {
  flush_block();
  const auto footer = static_cast<std::uint64_t>(written_);
  write_footer();
  section_.add_u64(footer);
  section_.add_bytes(std::as_bytes(std::span(kMagic)));
  write(section_.bytes());
  if (chunk_count_ > most_chunks(written_) || static_cast<std::int64_t>(step_count_) > most_steps(written_))
    throw ArgumentError("schedule file: " + std::to_string(chunk_count_) + " chunks or " +
                        std::to_string(step_count_) + " steps are too many for the few that are used");
}

void write_binary(const Schedule& schedule, ByteSink* sink) {
  ScheduleWriter writer(schedule.collective(), schedule.chunk_weights(), schedule.pairs(), sink);
  schedule.for_each([&](const Transfer& transfer) { writer.add(transfer); });
  writer.finish();
}

}  // namespace hemiola
