#include "hemiola/schedule/schedule.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

constexpr int kMaxSteps = 1 << 30;

/// The distinct (src, dst) pairs, sorted, and each transfer's index among them.
std::vector<RankPair> collect_pairs(const std::vector<Transfer>& transfers,
                                    std::vector<std::uint32_t>* link) {
  std::vector<std::uint64_t> keys(transfers.size());
  const auto key = [](const Transfer& t) {
    return static_cast<std::uint64_t>(t.src) << 32 | static_cast<std::uint32_t>(t.dst);
  };
  std::transform(transfers.begin(), transfers.end(), keys.begin(), key);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  link->resize(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i)
    (*link)[i] = static_cast<std::uint32_t>(std::lower_bound(keys.begin(), keys.end(), key(transfers[i])) -
                                            keys.begin());
  std::vector<RankPair> pairs;
  pairs.reserve(keys.size());
  for (std::uint64_t k : keys) pairs.push_back({Rank{k >> 32}, Rank{static_cast<std::uint32_t>(k)}});
  return pairs;
}

}  // namespace

std::int64_t exchange_size(const Collective& collective, std::int64_t size) {
  return collective.kind() == CollectiveKind::all_to_all ? size * collective.rank_count() : size;
}

std::vector<std::int64_t> chunk_begins(const Schedule& schedule, std::int64_t size) {
  const auto& weights = schedule.chunk_weights();
  const auto count = static_cast<std::size_t>(schedule.chunk_count());
  std::int64_t total = static_cast<std::int64_t>(count);
  if (!weights.empty()) {
    total = 0;
    for (std::int64_t w : weights) total += w;
  }
  std::vector<std::int64_t> begin(count + 1);
  std::int64_t prefix = 0;
  for (std::size_t c = 0; c < count; ++c) {
    begin[c] = static_cast<std::int64_t>(static_cast<__int128>(size) * prefix / total);
    prefix += weights.empty() ? 1 : weights[c];
  }
  begin[count] = size;
  return begin;
}

Schedule Schedule::from_columns(Collective collective, Columns columns) {
  const auto& [offset, link, chunk, reduce, pairs] = columns;
  HEMIOLA_CHECK(!offset.empty() && offset.front() == 0 && std::is_sorted(offset.begin(), offset.end()) &&
                    offset.back() == static_cast<std::int64_t>(link.size()) && link.size() == chunk.size() &&
                    reduce.size() == (link.size() + 63) / 64,
                "columns of a schedule must be of one length");
  for (std::size_t p = 0; p < pairs.size(); ++p)
    HEMIOLA_CHECK(pairs[p].src >= 0 && pairs[p].src < collective.rank_count() && pairs[p].dst >= 0 &&
                      pairs[p].dst < collective.rank_count() && pairs[p].src != pairs[p].dst &&
                      (p == 0 || pairs[p - 1] < pairs[p]),
                  "pairs of a schedule must be sorted pairs of different ranks");
  const auto chunk_count = static_cast<std::uint32_t>(collective.chunk_count());
  std::vector<bool> used(pairs.size(), false);
  for (std::size_t i = 0; i < link.size(); ++i) {
    HEMIOLA_CHECK(link[i] < pairs.size() && chunk[i] < chunk_count, "a transfer must name a pair and a chunk that exist");
    used[link[i]] = true;
  }
  HEMIOLA_CHECK(std::find(used.begin(), used.end(), false) == used.end(), "pairs of a schedule must be used");
  for (std::size_t t = 0; t + 1 < offset.size(); ++t)
    for (std::int64_t i = offset[t] + 1; i < offset[t + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      HEMIOLA_CHECK(std::tie(link[at - 1], chunk[at - 1]) <= std::tie(link[at], chunk[at]),
                    "transfers of a step must be sorted by pair and chunk");
    }
  Schedule s(std::move(collective));
  s.step_offset_ = std::move(columns.step_offset);
  s.link_ = std::move(columns.link);
  s.chunk_ = std::move(columns.chunk);
  s.reduce_ = std::move(columns.reduce_words);
  s.pairs_ = std::move(columns.pairs);
  return s;
}

ScheduleBuilder::ScheduleBuilder(Collective collective) : collective_(std::move(collective)) {}

void ScheduleBuilder::add(const Transfer& t) {
  const auto text = [&] {
    return "transfer (step " + std::to_string(t.step) + ", " + std::to_string(t.src) + " -> " +
           std::to_string(t.dst) + ", chunk " + std::to_string(t.chunk) + "): ";
  };
  const int ranks = collective_.rank_count();
  if (t.step < 0 || t.step >= kMaxSteps) throw ArgumentError(text() + "expected a step in 0 … 2^30-1");
  if (t.src < 0 || t.src >= ranks || t.dst < 0 || t.dst >= ranks)
    throw ArgumentError(text() + "expected ranks in 0 … " + std::to_string(ranks - 1));
  if (t.src == t.dst) throw ArgumentError(text() + "a transfer must join two different ranks");
  if (t.chunk < 0 || t.chunk >= collective_.chunk_count())
    throw ArgumentError(text() + "expected a chunk in 0 … " + std::to_string(collective_.chunk_count() - 1));
  transfers_.push_back(t);
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

Schedule ScheduleBuilder::finish() {
  std::sort(transfers_.begin(), transfers_.end(), [](const Transfer& a, const Transfer& b) {
    return std::tie(a.step, a.src, a.dst, a.chunk, a.reduce) <
           std::tie(b.step, b.src, b.dst, b.chunk, b.reduce);
  });
  Schedule s(std::move(collective_));
  s.chunk_weights_ = std::move(weights_);
  s.pairs_ = collect_pairs(transfers_, &s.link_);
  s.chunk_.resize(transfers_.size());
  s.reduce_.assign((transfers_.size() + 63) / 64, 0);
  const std::size_t steps = transfers_.empty() ? 0 : static_cast<std::size_t>(transfers_.back().step) + 1;
  s.step_offset_.assign(steps + 1, 0);
  for (std::size_t i = 0; i < transfers_.size(); ++i) {
    s.chunk_[i] = static_cast<std::uint32_t>(transfers_[i].chunk);
    s.reduce_[i / 64] |= static_cast<std::uint64_t>(transfers_[i].reduce) << (i % 64);
    ++s.step_offset_[static_cast<std::size_t>(transfers_[i].step) + 1];
  }
  for (std::size_t t = 1; t <= steps; ++t) s.step_offset_[t] += s.step_offset_[t - 1];
  transfers_.clear();
  return s;
}

}  // namespace hemiola
