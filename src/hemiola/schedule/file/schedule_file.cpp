// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/file/schedule_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/interrupt.hpp"
#include "hemiola/schedule/file/binary_layout.hpp"
#include "hemiola/schedule/file/checksum.hpp"
#include "hemiola/schedule/file/size_limits.hpp"
#include "hemiola/schedule/file/text.hpp"

namespace hemiola {

using namespace binary_layout;

ScheduleFile::ScheduleFile(std::unique_ptr<const ByteSource> source) : source_(std::move(source)) {
  const std::int64_t footer = check_frame();
  first_block_ = read_collective();
  read_footer(footer);
}

std::string ScheduleFile::place(std::int64_t offset) const {
  return source_->name() + ", offset " + std::to_string(offset);
}

/// Looks at both ends of the file; returns the footer's offset.
std::int64_t ScheduleFile::check_frame() {
  std::array<std::byte, kHeaderBytes> header{};
  source_->read(0, header);
  SectionReader start(header, place(0));
  start.check(std::ranges::equal(start.bytes(kMagic.size()), std::as_bytes(std::span(kMagic))),
              "expected the first bytes of a binary schedule");
  const std::uint32_t version = start.u32();
  if (version != kVersion && version != kVersionWithScratch)
    start.fail("expected version 1 or 2, which is all that this release reads, found " +
               std::to_string(version));
  has_scratch_ = version == kVersionWithScratch;
  start.check(start.u32() == 0, "expected 4 bytes of zero");
  const std::int64_t at = std::max(kHeaderBytes, source_->size() - kTrailerBytes);
  std::array<std::byte, kTrailerBytes> trailer{};
  source_->read(at, trailer);
  SectionReader end(trailer, place(at));
  const std::uint64_t footer = end.u64();
  end.check(std::ranges::equal(end.bytes(kMagic.size()), std::as_bytes(std::span(kMagic))),
            "expected the last bytes of a binary schedule; the file is cut short or was never finished");
  end.check(footer >= static_cast<std::uint64_t>(kHeaderBytes) && footer <= static_cast<std::uint64_t>(at),
            "expected the footer's offset");
  return static_cast<std::int64_t>(footer);
}

/// The bytes of the section at `offset`, which must end at or before `end`.
std::vector<std::byte> ScheduleFile::read_section(std::int64_t offset, std::int64_t end) const {
  std::array<std::byte, kSectionHeaderBytes> header{};
  source_->read(offset, header);
  SectionReader reader(header, place(offset));
  const std::uint64_t length = reader.u64();
  const std::int64_t room = end - offset - kSectionHeaderBytes;
  reader.check(room >= 0 && length <= static_cast<std::uint64_t>(room),
               "expected a section that ends within the file");
  std::vector<std::byte> bytes(length);
  source_->read(offset + kSectionHeaderBytes, bytes);
  reader.check(checksum(bytes) == reader.u64(), "expected another checksum; the section is damaged");
  return bytes;
}

/// Returns where the section ends.
std::int64_t ScheduleFile::read_collective() {
  const std::vector<std::byte> bytes = read_section(kHeaderBytes, source_->size() - kTrailerBytes);
  SectionReader reader(bytes, place(kHeaderBytes));
  try {
    collective_ = decode_collective(&reader);
    decode_weights(&reader);
  } catch (const ArgumentError& e) {
    reader.fail(e.what());
  }
  reader.expect_end();
  return kHeaderBytes + kSectionHeaderBytes + static_cast<std::int64_t>(bytes.size());
}

Collective ScheduleFile::decode_collective(SectionReader* reader) const {
  const std::uint8_t kind_byte = reader->byte();
  reader->check(kind_byte <= static_cast<std::uint8_t>(CollectiveKind::custom),
                "expected a known kind of collective");
  const auto kind = static_cast<CollectiveKind>(kind_byte);
  const bool reducing = reader->byte() != 0;
  const std::uint32_t ranks = reader->u32(), chunks = reader->u32(), root = reader->u32();
  reader->check(ranks <= Collective::kMaxRanks && chunks <= Collective::kMaxChunks &&
                    root <= Collective::kMaxRanks &&
                    static_cast<std::int64_t>(chunks) <= most_chunks(source_->size()),
                "expected fewer ranks or chunks in a file of this size");
  const int rank_count = static_cast<int>(ranks);
  if (kind == CollectiveKind::custom) {
    const auto places = [&] {
      std::vector<std::uint32_t> rank, chunk;
      const std::uint64_t count = reader->u64();
      reader->column(count, &rank);
      reader->column(count, &chunk);
      std::vector<Collective::Place> list;
      list.reserve(count);
      for (std::size_t i = 0; i < count; ++i) list.emplace_back(Rank{rank[i]}, Chunk{chunk[i]});
      return list;
    };
    std::vector<Collective::Place> before = places();
    return Collective::custom(rank_count, chunks, std::move(before), places(), reducing);
  }
  if (reader->byte() == kBlockwise) return Collective::make(kind, rank_count, chunks, Rank{root});
  std::vector<std::uint32_t> owner;
  reader->column(chunks, &owner);
  return Collective::with_owners(kind, rank_count, {owner.begin(), owner.end()}, Rank{root});
}

void ScheduleFile::decode_weights(SectionReader* reader) {
  if (reader->byte() == kEqual) return;
  std::vector<std::uint64_t> wide;
  reader->column(static_cast<std::size_t>(collective_->chunk_count()), &wide);
  ScheduleBuilder builder(*collective_);  // for its checks
  builder.set_chunk_weights({wide.begin(), wide.end()});
  weights_.assign(wide.begin(), wide.end());
}

void ScheduleFile::read_footer(std::int64_t offset) {
  const std::int64_t end = source_->size() - kTrailerBytes;
  const std::vector<std::byte> bytes = read_section(offset, end);
  SectionReader reader(bytes, place(offset));
  const std::uint64_t steps = reader.u64(), transfers = reader.u64();
  const std::int64_t most = std::min<std::int64_t>(ScheduleBuilder::kMaxSteps, most_steps(source_->size()));
  reader.check(steps <= static_cast<std::uint64_t>(most) &&
                   transfers <= static_cast<std::uint64_t>(source_->size() / kLeastTransferBytes),
               "expected fewer steps or transfers in a file of this size");
  step_count_ = static_cast<int>(steps);
  transfer_count_ = static_cast<std::int64_t>(transfers);
  decode_pairs(&reader);
  decode_index(&reader, offset);
  reader.expect_end();
}

void ScheduleFile::decode_pairs(SectionReader* reader) {
  std::vector<std::uint32_t> src, dst;
  const std::uint64_t count = reader->u64();
  reader->column(count, &src);
  reader->column(count, &dst);
  std::vector<std::uint32_t> src_slot(src.size()), dst_slot(src.size());
  if (has_scratch_) {
    reader->column(count, &src_slot);
    reader->column(count, &dst_slot);
  }
  pairs_.reserve(src.size());
  const auto ranks = static_cast<std::uint32_t>(collective_->rank_count());
  for (std::size_t i = 0; i < src.size(); ++i) {
    reader->check(src[i] < ranks && dst[i] < ranks && (src[i] != dst[i] || src_slot[i] != dst_slot[i]),
                  "expected pairs of different ranks, or of different slots of one, that exist");
    constexpr std::int64_t kMostSlots = ScheduleBuilder::kMaxSlots;
    const std::int64_t slot = std::max(src_slot[i], dst_slot[i]);
    reader->check(slot <= ScheduleBuilder::kMaxScratch && (slot + 1) * std::int64_t{ranks} <= kMostSlots,
                  "expected slots of at most 2^16 - 1, and 2^22 of a chunk on all ranks");
    pairs_.push_back({Rank{src[i]}, Rank{dst[i]}, static_cast<std::int32_t>(src_slot[i]),
                      static_cast<std::int32_t>(dst_slot[i])});
  }
}

void ScheduleFile::decode_index(SectionReader* reader, std::int64_t end) {
  std::vector<std::uint64_t> offset;
  std::vector<std::uint32_t> step, size;
  const std::uint64_t count = reader->u64();
  reader->column(count, &offset);
  reader->column(count, &step);
  reader->column(count, &size);
  blocks_.reserve(offset.size());
  std::int64_t total = 0;
  for (std::size_t i = 0; i < offset.size(); ++i) {
    const std::uint64_t least = i == 0 ? static_cast<std::uint64_t>(first_block_) : offset[i - 1] + 1;
    reader->check(offset[i] >= least && offset[i] < static_cast<std::uint64_t>(end) &&
                      step[i] < static_cast<std::uint32_t>(step_count_) &&
                      (i == 0 || step[i - 1] <= step[i]) && size[i] > 0 && size[i] <= kBlockTransfers,
                  "expected an index of blocks in order");
    blocks_.push_back({static_cast<std::int64_t>(offset[i]), Step{step[i]}, size[i]});
    total += size[i];
  }
  reader->check(total == transfer_count_, "expected as many transfers as the blocks hold together");
}

void ScheduleFile::read_block(std::size_t index, Columns* columns) const {
  const Block& block = blocks_[index];
  const std::int64_t end =
      index + 1 < blocks_.size() ? blocks_[index + 1].offset : source_->size() - kTrailerBytes;
  const std::vector<std::byte> bytes = read_section(block.offset, end);
  SectionReader reader(bytes, place(block.offset));
  const std::uint32_t segments = reader.u32(), size = reader.u32();
  reader.check(size == block.size && segments <= size,
               "expected as many transfers in a block as the index says");
  reader.column(segments, &columns->segment_step);
  reader.column(segments, &columns->segment_size);
  reader.column(size, &columns->link);
  reader.column(size, &columns->chunk);
  const std::uint8_t reduces = reader.byte();
  reader.check(reduces <= kMixed, "expected a known layout of reduce bits");
  columns->reduce_words.assign((size + 63) / 64, reduces == kAll ? ~std::uint64_t{0} : 0);
  if (reduces == kMixed)
    std::memcpy(columns->reduce_words.data(), reader.bytes((size + 7) / 8).data(), (size + 7) / 8);
  reader.expect_end();
  check_block(block, *columns, reader);
}

void ScheduleFile::check_block(const Block& block, const Columns& columns,
                               const SectionReader& reader) const {
  const auto& step = columns.segment_step;
  reader.check(!step.empty() && step.front() == static_cast<std::uint32_t>(block.first_step) &&
                   step.back() < static_cast<std::uint32_t>(step_count_) &&
                   std::adjacent_find(step.begin(), step.end(), std::greater_equal<>()) == step.end(),
               "expected ascending steps from the one that the index says");
  std::uint64_t total = 0;
  for (const std::uint32_t size : columns.segment_size) total += size;
  const auto largest = [](const std::vector<std::uint32_t>& values) {
    return *std::max_element(values.begin(), values.end());
  };
  reader.check(total == block.size, "expected steps whose sizes add up to the block's");
  reader.check(largest(columns.link) < pairs_.size() &&
                   largest(columns.chunk) < static_cast<std::uint32_t>(collective_->chunk_count()),
               "expected links and chunks that exist");
}

void ScheduleFile::visit_blocks(const std::function<void(const TransferBlock&)>& visit) const {
  Columns columns;
  std::uint32_t last_step = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    heed_interrupt(blocks_[i].size);
    read_block(i, &columns);
    if (columns.segment_step.front() < last_step)
      throw FormatError(place(blocks_[i].offset) + ": expected a step not before the last block's");
    last_step = columns.segment_step.back();
    std::size_t begin = 0;
    for (std::size_t s = 0; s < columns.segment_step.size(); ++s) {
      const std::size_t size = columns.segment_size[s];
      visit({Step{columns.segment_step[s]}, std::span(columns.link).subspan(begin, size),
             std::span(columns.chunk).subspan(begin, size), columns.reduce_words.data(),
             static_cast<std::int64_t>(begin)});
      begin += size;
    }
  }
}

Schedule ScheduleFile::load() const {
  ScheduleBuilder builder(*collective_);
  if (!weights_.empty()) builder.set_chunk_weights(weights_);
  builder.reserve(transfer_count_);
  visit_blocks([&](const TransferBlock& block) {
    for (std::size_t i = 0; i < block.link.size(); ++i) {
      const RankPair pair = pairs_[block.link[i]];
      builder.add({block.step, pair.src, pair.dst, Chunk{block.chunk[i]}, block.reduces(i), pair.src_slot,
                   pair.dst_slot});
    }
  });
  return builder.finish();
}

Schedule read_schedule(std::unique_ptr<const ByteSource> source) {
  constexpr std::int64_t kStart = 4096, kMostTextBytes = std::int64_t{1} << 32;
  std::string text(static_cast<std::size_t>(std::min(kStart, source->size())), '\0');
  source->read(0, std::as_writable_bytes(std::span(text)));
  if (text.starts_with(kMagic.front())) return ScheduleFile(std::move(source)).load();
  if (!is_text(text))
    throw FormatError(source->name() +
                      ", line 1: expected 'hemiola schedule 2', or the first bytes of the binary form");
  if (source->size() > kMostTextBytes)
    throw FormatError(source->name() + ": expected at most 4 GiB of text; use the binary form");
  text.resize(static_cast<std::size_t>(source->size()));
  source->read(0, std::as_writable_bytes(std::span(text)));
  return read_text(text, source->name());
}

}  // namespace hemiola
