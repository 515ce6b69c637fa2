#include "hemiola/synthesis/slot_matcher.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <thread>

#include "hemiola/base/random.hpp"

namespace hemiola::synthesis {
namespace {

/// Probes of other channels' picks per rank and slot; bounds the matching on ranks with hundreds of channels.
constexpr int kMaxProbes = 256;
/// Ranks whose logs are fetched ahead of their turn.
constexpr std::size_t kAhead = 3;
constexpr int kLeastBlock = 64;

}  // namespace

/// One thread's work on ranks one after another.
class SlotMatcher::Matching {
 public:
  explicit Matching(SlotMatcher* matcher) : m_(*matcher) {}

  /// Picks, for every rank of the block, a chunk for as many channels as possible. Returns the number of picks.
  std::int64_t match_block(int block, int slot) {
    slot_ = m_.first_slot_ + slot;
    picks_ = m_.picks_.data() + m_.row(slot);
    const std::span<const Rank> ranks = m_.blocks_[block];
    std::int64_t delivered = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (i + kAhead < ranks.size()) prefetch_logs(ranks[i + kAhead]);
      delivered += match(ranks[i]);
    }
    return delivered;
  }

 private:
  std::int32_t match(Rank rank);
  std::uint32_t take_oldest(std::uint32_t place);
  bool take_from_another(std::uint32_t place);
  bool augment(std::uint32_t place);
  bool has_left(std::uint32_t place) const {
    return m_.cursor_[place] != m_.visible_end(source(place), slot_);
  }
  bool is_there(Rank rank, std::uint32_t chunk) const;
  void prefetch_logs(Rank rank) const;
  Rank source(std::uint32_t place) const { return Rank{m_.source_[place]}; }

  SlotMatcher& m_;
  int slot_ = 0;
  std::uint32_t* picks_ = nullptr;  ///< the slot's table
  std::uint64_t* have_ = nullptr;
  std::uint32_t first_ = 0, last_ = 0;  ///< places of the channels into the rank
  std::vector<bool> visited_;
  int probes_left_ = 0;
};

SlotMatcher::SlotMatcher(const Flood& flood, std::uint64_t seed, int lag)
    : channels_(flood.channels),
      blocks_(flood.channels, kLeastBlock),
      lag_(lag),
      seed_(seed),
      have_(flood.start.size(), flood.chunk_count),
      lacks_(flood.start.size()),
      log_(flood.start.size()),
      ring_(std::bit_ceil(static_cast<std::size_t>(lag) + 3)),
      visible_end_(ring_ * flood.start.size()),
      cursor_(channels_.count(), 0),
      picks_(static_cast<std::size_t>(kSlots) * channels_.count(), kIdle),
      place_of_(channels_.count()) {
  for (Rank rank : indices<Rank>(channels_.rank_count())) {
    const auto r = static_cast<std::size_t>(rank);
    for (Chunk chunk : flood.start[r]) {
      insert(have_[rank], static_cast<std::uint32_t>(chunk));
      log_[r].append(static_cast<std::uint32_t>(chunk));
    }
    for (std::size_t slot = 0; slot < ring_; ++slot) visible_end_[r * ring_ + slot] = log_[r].end();
    lacks_[r] = flood.chunk_count - static_cast<int>(flood.start[r].size());
    missing_ += lacks_[r];
  }
  source_.reserve(channels_.count());
  for (const std::uint32_t c : channels_.by_destination()) {
    place_of_[c] = static_cast<std::uint32_t>(source_.size());
    source_.push_back(channels_[c].src);
  }
}

std::int64_t SlotMatcher::advance(int threads) {
  std::atomic<std::int64_t> delivered{0};
  std::barrier wave_done(threads);
  // In one wave, the blocks of different slots are two apart: none reads what another writes.
  const auto work = [&](int first) {
    Matching matching(this);
    std::int64_t mine = 0;
    for (int wave = 0; wave < wave_count(); ++wave) {
      for (int slot = first; slot < kSlots; slot += threads)
        if (const int block = block_in(wave, slot); block >= 0 && block < blocks_.count())
          mine += matching.match_block(block, slot);
      if (threads > 1) wave_done.arrive_and_wait();
    }
    delivered += mine;
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  for (std::thread& thread : others) thread.join();
  first_slot_ += kSlots;
  missing_ -= delivered;
  forget_logs();
  return delivered;
}

void SlotMatcher::forget_logs() {
  for (Rank rank : indices<Rank>(channels_.rank_count())) {
    ArrivalLog& log = log_[static_cast<std::size_t>(rank)];
    if (!log.is_worth_forgetting()) continue;
    std::uint32_t slowest = log.end();
    for (std::uint32_t c = channels_.first_out(rank); c < channels_.first_out(rank + 1); ++c)
      if (lacks_[static_cast<std::size_t>(channels_[c].dst)] > 0)
        slowest = std::min(slowest, cursor_[place_of_[c]]);
    log.forget_before(slowest);
  }
}

std::int32_t SlotMatcher::Matching::match(Rank rank) {
  first_ = m_.channels_.first_in(rank);
  last_ = m_.channels_.first_in(rank + 1);
  std::fill(picks_ + first_, picks_ + last_, kIdle);
  ArrivalLog& log = m_.log_[static_cast<std::size_t>(rank)];
  std::int32_t& lacks = m_.lacks_[static_cast<std::size_t>(rank)];
  const std::int32_t lacked = lacks;
  if (lacked > 0) {
    have_ = m_.have_[rank];
    probes_left_ = kMaxProbes;
    const auto turn = static_cast<std::uint64_t>(slot_) << 32 | static_cast<std::uint32_t>(rank);
    std::uint32_t place = first_ + Random(m_.seed_ ^ turn).below(last_ - first_);
    for (std::uint32_t i = first_; i < last_ && lacks > 0; ++i) {
      const std::uint32_t chunk = take_oldest(place);
      if (chunk != kIdle) picks_[place] = chunk;
      lacks -= chunk != kIdle || take_from_another(place);
      if (++place == last_) place = first_;
    }
    for (place = first_; place < last_; ++place)
      if (picks_[place] != kIdle) log.append(picks_[place]);
  }
  m_.visible_end(rank, slot_ + 1 + m_.lag_) = log.end();
  return lacked - lacks;
}

/// Takes the oldest chunk in the log of the channel's source that the rank lacks; kIdle if there is none.
inline std::uint32_t SlotMatcher::Matching::take_oldest(std::uint32_t place) {
  const Rank from = source(place);
  const ArrivalLog& log = m_.log_[static_cast<std::size_t>(from)];
  const std::uint32_t at = m_.cursor_[place], last = m_.visible_end(from, slot_);
  const std::uint32_t *const begin = log.at(at), *const end = log.at(last), *entry = begin;
  std::uint64_t* const have = have_;
  while (entry != end && contains(have, *entry)) ++entry;
  const bool found = entry != end;
  m_.cursor_[place] = at + static_cast<std::uint32_t>(entry - begin) + found;
  if (!found) return kIdle;
  insert(have, *entry);
  return *entry;
}

bool SlotMatcher::Matching::take_from_another(std::uint32_t place) {
  bool any_left = false;
  for (std::uint32_t other = first_; other < last_ && !any_left; ++other) any_left = has_left(other);
  if (!any_left) return false;
  visited_.assign(last_ - first_, false);
  return augment(place);
}

/// Hands the channel another channel's chunk after finding that one a new chunk, in the same way if need be.
bool SlotMatcher::Matching::augment(std::uint32_t place) {
  visited_[place - first_] = true;
  for (std::uint32_t other = first_; other < last_; ++other) {
    if (visited_[other - first_] || picks_[other] == kIdle) continue;
    if (--probes_left_ < 0) return false;
    const std::uint32_t chunk = picks_[other];
    if (!is_there(source(place), chunk)) continue;
    if (const std::uint32_t instead = take_oldest(other); instead != kIdle)
      picks_[other] = instead;
    else if (!augment(other))
      continue;
    picks_[place] = chunk;
    return true;
  }
  return false;
}

/// Whether the rank may send the chunk on in this slot: it has it, and not only since lately.
bool SlotMatcher::Matching::is_there(Rank rank, std::uint32_t chunk) const {
  if (!contains(m_.have_[rank], chunk)) return false;
  const ArrivalLog& log = m_.log_[static_cast<std::size_t>(rank)];
  const std::uint32_t *lately = log.at(m_.visible_end(rank, slot_)), *now = log.at(log.end());
  return std::find(lately, now, chunk) == now;
}

void SlotMatcher::Matching::prefetch_logs(Rank rank) const {
  for (std::uint32_t place = m_.channels_.first_in(rank); place < m_.channels_.first_in(rank + 1); ++place)
    __builtin_prefetch(m_.log_[static_cast<std::size_t>(source(place))].at(m_.cursor_[place]));
}

}  // namespace hemiola::synthesis
