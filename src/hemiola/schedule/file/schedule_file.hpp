// SPDX-License-Identifier: Apache-2.0
// The binary form of a schedule, written and read as a stream, for schedules that need not fit in memory;
// docs/reference/formats/schedule.md defines it byte by byte.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hemiola/schedule/file/bytes.hpp"
#include "hemiola/schedule/file/column_codec.hpp"
#include "hemiola/schedule/schedule.hpp"
#include "hemiola/schedule/transfer_source.hpp"

namespace hemiola {

/// Appends transfers step by step; keeps one block, the table of pairs and 16 bytes per block in memory. Two
/// to three bytes a transfer on disk where a step uses most links in order and chunks fit in 16 bits.
class ScheduleWriter {
 public:
  /// `weights` as Schedule::chunk_weights gives them. `pairs` that are known beforehand, in the order in
  /// which a step will use them, make links ascend and the file smaller. The sink must outlive the writer.
  /// Transfers may name scratch slots only where these pairs do.
  ScheduleWriter(const Collective& collective, std::span<const std::int64_t> weights,
                 std::span<const RankPair> pairs, ByteSink* sink);

  /// Transfers of ascending steps; within a step in any order. Throws ArgumentError for a step before the
  /// last one, or ranks or chunks that do not exist.
  void add(const Transfer& transfer);
  /// The same for copies of one step, as columns; `pair` indexes the pairs that the writer was made with.
  void add_copies(Step step, std::span<const std::uint32_t> pair, std::span<const std::uint32_t> chunk);
  /// Writes the rest; without it the file is not readable. Throws ArgumentError where read_schedule would
  /// refuse the file as too short for its sizes (see text.hpp).
  void finish();

 private:
  void check(const Transfer& transfer) const;
  bool ascends(Step step) const;
  void enter(Step step);
  bool is_last_segment_sorted() const;
  void write(std::span<const std::byte> bytes);
  void write_section();
  void write_collective(const Collective& collective, std::span<const std::int64_t> weights);
  void sort_last_segment();
  void flush_block();
  void write_footer();

  const int rank_count_;
  const bool has_scratch_;
  const std::int64_t chunk_count_;
  ByteSink& sink_;
  std::int64_t written_ = 0;
  SectionWriter section_;
  PairTable pairs_;

  std::vector<std::uint32_t> segment_step_, segment_size_;  ///< of the current block
  std::vector<std::uint32_t> link_, chunk_;
  std::vector<std::uint8_t> reduce_;

  std::uint64_t step_count_ = 0, transfer_count_ = 0;
  std::vector<std::uint64_t> block_offset_;
  std::vector<std::uint32_t> block_step_, block_size_;
};

/// A binary schedule that is open for reading. Opening reads collective, pairs and index; blocks are read,
/// checked and decoded as they are visited.
class ScheduleFile final : public TransferSource {
 public:
  /// Throws FormatError that names the source and the offset.
  explicit ScheduleFile(std::unique_ptr<const ByteSource> source);

  const Collective& collective() const override { return *collective_; }
  const std::vector<std::int64_t>& chunk_weights() const { return weights_; }
  int step_count() const override { return step_count_; }
  std::int64_t transfer_count() const override { return transfer_count_; }
  std::span<const RankPair> pairs() const override { return pairs_; }
  /// Within a step, transfers come in the order of the file.
  void visit_blocks(const std::function<void(const TransferBlock&)>& visit) const override;

  const ByteSource& source() const { return *source_; }

  /// All of it, in memory.
  Schedule load() const;

 private:
  struct Block {
    std::int64_t offset;
    Step first_step;
    std::uint32_t size;
  };
  /// A block's columns, decoded.
  struct Columns {
    std::vector<std::uint32_t> segment_step, segment_size, link, chunk;
    std::vector<std::uint64_t> reduce_words;
  };
  std::vector<std::byte> read_section(std::int64_t offset, std::int64_t end) const;
  std::string place(std::int64_t offset) const;
  std::int64_t check_frame();
  std::int64_t read_collective();
  Collective decode_collective(SectionReader* reader) const;
  void decode_weights(SectionReader* reader);
  void read_footer(std::int64_t offset);
  void decode_pairs(SectionReader* reader);
  void decode_index(SectionReader* reader, std::int64_t end);
  void read_block(std::size_t index, Columns* columns) const;
  void check_block(const Block& block, const Columns& columns, const SectionReader& reader) const;

  std::unique_ptr<const ByteSource> source_;
  std::optional<Collective> collective_;
  std::vector<std::int64_t> weights_;
  bool has_scratch_ = false;
  int step_count_ = 0;
  std::int64_t transfer_count_ = 0;
  std::vector<RankPair> pairs_;
  std::vector<Block> blocks_;
  std::int64_t first_block_ = 0;
};

/// Writes a whole schedule; equal schedules give equal bytes.
void write_binary(const Schedule& schedule, ByteSink* sink);

/// Reads either form, told apart by its first bytes. Throws FormatError.
Schedule read_schedule(std::unique_ptr<const ByteSource> source);

}  // namespace hemiola
