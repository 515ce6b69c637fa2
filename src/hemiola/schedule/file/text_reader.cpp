// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <type_traits>

#include "hemiola/base/error.hpp"
#include "hemiola/schedule/file/line_reader.hpp"
#include "hemiola/schedule/file/size_limits.hpp"
#include "hemiola/schedule/file/text.hpp"

namespace hemiola {
namespace {

constexpr std::string_view kFirstLine = "hemiola schedule 2";
constexpr std::string_view kWithScratch = "hemiola schedule 3";
constexpr std::string_view kWithoutEnd = "hemiola schedule 1";
constexpr std::string_view kAnyVersion = "hemiola schedule ";
constexpr std::string_view kStep = "step ";
constexpr std::string_view kEnd = "end";

class TextReader {
 public:
  TextReader(std::string_view text, const std::string& source)
      : lines_(text, source), bytes_(static_cast<std::int64_t>(text.size())) {}

  Schedule read() {
    read_first_line();
    std::string_view line;
    bool more = lines_.next(&line);
    for (; more && !line.starts_with(kStep) && !line.starts_with(kEnd); more = lines_.next(&line))
      read_header(Cursor(line, lines_));
    ScheduleBuilder builder(guard([&] { return collective(); }));
    if (!weights_.empty()) guard([&] { builder.set_chunk_weights(std::move(weights_)); });
    for (; more && !line.starts_with(kEnd); more = lines_.next(&line))
      read_transfers(Cursor(line, lines_), &builder);
    if (more)
      read_end(Cursor(line, lines_));
    else if (must_end_)
      lines_.fail(
          "expected 'end " + std::to_string(transfer_count_) +
          "' after the last transfer, found the end of the text; it is cut short (written by hand, it may do "
          "without where the first line is '" +
          std::string(kWithoutEnd) + "')");
    return builder.finish();
  }

 private:
  /// The core's own checks, with the line that failed them.
  template <typename Action>
  std::invoke_result_t<Action> guard(Action action) {
    try {
      return action();
    } catch (const ArgumentError& e) {
      lines_.fail(e.what());
    }
  }

  void read_first_line() {
    std::string_view line;
    if (!lines_.next(&line) || !line.starts_with(kAnyVersion))
      lines_.fail(std::string("expected '").append(kFirstLine).append("'"));
    if (line != kFirstLine && line != kWithScratch && line != kWithoutEnd)
      lines_.fail("expected version 1, 2 or 3 of the format, which is all that this release reads");
    must_end_ = line != kWithoutEnd;
    may_have_scratch_ = line == kWithScratch;
  }

  void read_header(Cursor cursor) {
    const std::string_view key = cursor.word();
    if (key == "collective") {
      read_kind(&cursor);
    } else if (key == "ranks") {
      ranks_ = cursor.number(Collective::kMaxRanks, "a rank count");
    } else if (key == "chunks") {
      chunks_ = cursor.number(std::min(Collective::kMaxChunks, most_chunks(bytes_)), "a chunk count");
    } else if (key == "root") {
      root_ = Rank{cursor.number(Collective::kMaxRanks - 1, "a rank")};
    } else if (key == "reducing") {
      reducing_ = true;
    } else if (key == "owners") {
      read_values(&cursor, &owners_, Collective::kMaxRanks - 1, "a rank");
    } else if (key == "weights") {
      read_values(&cursor, &weights_, std::int64_t{1} << 62, "a weight");
    } else if (key == "before" || key == "after") {
      read_places(&cursor, key == "before" ? &before_ : &after_);
    } else {
      lines_.fail(
          "expected collective, ranks, chunks, root, owners, weights, reducing, before, after, step or end");
    }
    cursor.skip_blanks();
    if (!cursor.at_end()) cursor.fail("the end of the line");
  }

  void read_kind(Cursor* cursor) {
    const Cursor before = *cursor;
    try {
      kind_ = kind_from_name(cursor->word());
    } catch (const ArgumentError&) {
      before.fail(
          "all_gather, reduce_scatter, all_reduce, broadcast, reduce, all_to_all, gather, scatter or custom");
    }
  }

  template <typename T>
  void read_values(Cursor* cursor, std::vector<T>* values, std::int64_t most, const char* what) {
    while (!cursor->at_end()) {
      const T value{cursor->number(most, what)};
      const std::int64_t room = chunks_ - static_cast<std::int64_t>(values->size());
      const std::int64_t count = cursor->accept("*") ? cursor->number(room, "a repetition") : 1;
      if (room < count)
        lines_.fail("expected at most one value per chunk, of which there are " + std::to_string(chunks_));
      values->insert(values->end(), static_cast<std::size_t>(count), value);
      cursor->end_item();
    }
  }

  void read_places(Cursor* cursor, std::vector<Collective::Place>* places) {
    while (!cursor->at_end()) {
      const Rank rank{cursor->number(Collective::kMaxRanks - 1, "a rank")};
      cursor->expect(":");
      places->emplace_back(rank, Chunk{cursor->number(Collective::kMaxChunks - 1, "a chunk")});
      cursor->end_item();
    }
  }

  Collective collective() {
    if (!kind_) lines_.fail("expected a line 'collective …' before the first step");
    const auto ranks = static_cast<int>(ranks_);
    const bool is_custom = kind_ == CollectiveKind::custom;
    if (is_custom && !owners_.empty()) lines_.fail("a custom collective has no owners");
    if (!is_custom && (reducing_ || !before_.empty() || !after_.empty()))
      lines_.fail("reducing, before and after belong to a custom collective");
    if (root_ && !is_rooted(*kind_)) lines_.fail("a collective of this kind has no root");
    if (is_custom)
      return Collective::custom(ranks, chunks_, std::move(before_), std::move(after_), reducing_);
    const Rank root = root_.value_or(Rank{0});
    if (owners_.empty()) return Collective::make(*kind_, ranks, chunks_, root);
    if (static_cast<std::int64_t>(owners_.size()) != chunks_)
      lines_.fail("expected " + std::to_string(chunks_) + " owners, found " + std::to_string(owners_.size()));
    return Collective::with_owners(*kind_, ranks, std::move(owners_), root);
  }

  void read_transfers(Cursor cursor, ScheduleBuilder* builder) {
    if (cursor.accept(kStep)) return read_step(cursor);
    Transfer t;
    t.step = step_;
    t.src = Rank{cursor.number(Collective::kMaxRanks - 1, "a rank")};
    t.src_slot = read_slot(&cursor);
    cursor.expect("->");
    t.dst = Rank{cursor.number(Collective::kMaxRanks - 1, "a rank")};
    t.dst_slot = read_slot(&cursor);
    cursor.expect(":");
    cursor.skip_blanks();
    while (!cursor.at_end()) {
      t.chunk = Chunk{cursor.number(Collective::kMaxChunks - 1, "a chunk")};
      t.reduce = cursor.accept("+");
      cursor.end_item();
      guard([&] { builder->add(t); });
      ++transfer_count_;
    }
  }

  /// ".1" after a rank, its first scratch slot; nothing: the buffer's.
  std::int32_t read_slot(Cursor* cursor) {
    if (!may_have_scratch_ || !cursor->accept(".")) return 0;
    return static_cast<std::int32_t>(cursor->number(ScheduleBuilder::kMaxScratch, "a slot"));
  }

  /// The last line counts the transfers, so that a text that was cut or lost lines is noticed.
  void read_end(Cursor cursor) {
    cursor.expect(kEnd);
    cursor.skip_blanks();
    const std::int64_t count = cursor.number(std::int64_t{1} << 62, "a count of transfers");
    cursor.skip_blanks();
    if (!cursor.at_end()) cursor.fail("the end of the line");
    if (count != transfer_count_)
      lines_.fail("expected as many transfers as the last line says, " + std::to_string(count) + ", found " +
                  std::to_string(transfer_count_) + "; correct the count after adding or removing any");
    std::string_view line;
    if (lines_.next(&line)) Cursor(line, lines_).fail("nothing after 'end'");
  }

  void read_step(Cursor cursor) {
    cursor.skip_blanks();
    const std::int64_t most = std::min<std::int64_t>(ScheduleBuilder::kMaxSteps, most_steps(bytes_)) - 1;
    const Step step{cursor.number(most, "a step")};
    if (!cursor.at_end()) cursor.fail("the end of the line");
    if (step <= last_step_)
      lines_.fail("expected steps to ascend, found " + std::to_string(step) + " after " +
                  std::to_string(last_step_));
    step_ = step;
    last_step_ = step;
  }

  LineReader lines_;
  std::int64_t bytes_;
  bool must_end_ = true;
  bool may_have_scratch_ = false;
  std::optional<CollectiveKind> kind_;
  std::int64_t ranks_ = 0, chunks_ = 0;
  std::optional<Rank> root_;
  bool reducing_ = false;
  std::vector<Rank> owners_;
  std::vector<std::int64_t> weights_;
  std::vector<Collective::Place> before_, after_;
  Step step_{0};
  std::int32_t last_step_ = -1;
  std::int64_t transfer_count_ = 0;
};

}  // namespace

bool is_text(std::string_view start) {
  return start.find(kAnyVersion) != std::string_view::npos;
}

Schedule read_text(std::string_view text, const std::string& source) {
  return TextReader(text, source).read();
}

}  // namespace hemiola
