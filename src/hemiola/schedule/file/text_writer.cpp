// SPDX-License-Identifier: Apache-2.0
#include <span>

#include "hemiola/base/error.hpp"
#include "hemiola/base/interrupt.hpp"
#include "hemiola/schedule/file/size_limits.hpp"
#include "hemiola/schedule/file/text.hpp"

namespace hemiola {
namespace {

/// Appends lines of the form "key: item item item", starting a new line with the same key before one grows
/// too long.
class ItemLines {
 public:
  ItemLines(std::string* out, std::string key) : out_(*out), key_(std::move(key)) {}
  ~ItemLines() {
    if (open_) out_ += '\n';
  }

  void add(const std::string& item) {
    constexpr std::size_t kWidth = 100;
    if (open_ && out_.size() - line_start_ + item.size() + 1 > kWidth) {
      out_ += '\n';
      open_ = false;
    }
    if (!open_) {
      line_start_ = out_.size();
      out_ += key_;
      open_ = true;
    }
    out_ += ' ';
    out_ += item;
  }

 private:
  std::string& out_;
  std::string key_;
  std::size_t line_start_ = 0;
  bool open_ = false;
};

/// "3", or "3*7" for seven threes in a row, where runs may be shortened.
template <typename T>
void write_values(std::string* out, const char* key, std::span<const T> values, bool shorten) {
  ItemLines lines(out, key);
  for (std::size_t begin = 0, end = 0; begin < values.size(); begin = end) {
    do {
      ++end;
    } while (shorten && end < values.size() && values[end] == values[begin]);
    const std::string value = std::to_string(values[begin]);
    lines.add(end - begin == 1 ? value : value + "*" + std::to_string(end - begin));
  }
}

void write_places(std::string* out, const char* key, const std::vector<Collective::Place>& places) {
  ItemLines lines(out, key);
  for (const auto& [rank, chunk] : places) lines.add(std::to_string(rank) + ":" + std::to_string(chunk));
}

void write_collective(std::string* out, const Collective& c) {
  *out += "collective " + std::string(name_of(c.kind())) + "\nranks " + std::to_string(c.rank_count()) +
          "\nchunks " + std::to_string(c.chunk_count()) + "\n";
  const bool many = c.chunk_count() > kFreeChunks;
  if (is_rooted(c.kind())) *out += "root " + std::to_string(c.root()) + "\n";
  if (c.kind() == CollectiveKind::custom) {
    if (c.is_reducing()) *out += "reducing\n";
    write_places(out, "before", c.before());
    write_places(out, "after", c.after());
  } else if (many || !c.has_block_owners()) {
    write_values(out, "owners", std::span(c.owner()), !many);
  }
}

/// "3", or "3.1" for the first scratch slot of rank 3.
std::string end_of_pair(Rank rank, std::int32_t slot) {
  return std::to_string(rank) + (slot == 0 ? "" : "." + std::to_string(slot));
}

/// Operations, or more, that it takes to write a transfer.
constexpr std::int64_t kPerTransfer = 16;

void write_step(std::string* out, const Schedule& schedule, Step step) {
  std::int64_t i = schedule.step_offset()[static_cast<std::size_t>(step)];
  const std::int64_t end = schedule.step_offset()[static_cast<std::size_t>(step) + 1];
  if (i == end) return;
  *out += "\nstep " + std::to_string(step) + "\n";
  while (i < end) {
    const RankPair pair = schedule.pair_of(i);
    ItemLines lines(out,
                    end_of_pair(pair.src, pair.src_slot) + "->" + end_of_pair(pair.dst, pair.dst_slot) + ":");
    const std::int64_t begin = i;
    for (; i < end && schedule.pair_of(i) == pair; ++i)
      lines.add(std::to_string(schedule.chunk_of(i)) + (schedule.reduces(i) ? "+" : ""));
    heed_interrupt(kPerTransfer * (i - begin));
  }
}

}  // namespace

std::string write_text(const Schedule& schedule) {
  // A schedule without scratch is of a version that older releases read, too.
  std::string out = schedule.scratch_count() == 0 ? "hemiola schedule 2\n" : "hemiola schedule 3\n";
  write_collective(&out, schedule.collective());
  write_values(&out, "weights", std::span(schedule.chunk_weights()), schedule.chunk_count() <= kFreeChunks);
  for (Step step : indices<Step>(schedule.step_count())) write_step(&out, schedule, step);
  out += "\nend " + std::to_string(schedule.transfer_count()) + "\n";
  const auto bytes = static_cast<std::int64_t>(out.size());
  if (schedule.chunk_count() > most_chunks(bytes) || schedule.step_count() > most_steps(bytes))
    throw ArgumentError("schedule text: " + std::to_string(schedule.chunk_count()) + " chunks or " +
                        std::to_string(schedule.step_count()) +
                        " steps are too many for the few that are used");
  return out;
}

}  // namespace hemiola
