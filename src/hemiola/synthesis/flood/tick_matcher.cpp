// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/flood/tick_matcher.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <thread>

#include "hemiola/base/interrupt.hpp"
#include "hemiola/base/random.hpp"

namespace hemiola::synthesis {
namespace {

/// Probes of other channels' picks per rank and tick; bounds the matching on ranks with hundreds of channels.
constexpr int kMaxProbes = 256;
/// How many turns ahead of its own a rank's logs, the next entries in them, and the rank's bits are fetched.
constexpr std::size_t kLogsAhead = 9, kEntriesAhead = 6, kBitsAhead = 3;
constexpr int kLeastBlock = 64;
/// A round may be this part of the time that has passed and of that which is left.
constexpr int kCalm = 32;
/// In rounds as long as this, in the middle of large networks, a link that stays idle catches up before the end.
constexpr int kUnaided = 8;
/// So often could a chunk cross the network in the longest rounds before the slowest rank is done.
constexpr int kCrossings = 3;
/// A rank that will be done this part of the time that is left before the slowest one can wait for a chunk.
constexpr int kLead = 8;
/// Words and log entries in a line of the cache.
constexpr std::size_t kWordsInLine = 8;
constexpr std::uint32_t kEntriesInLine = 16;

}  // namespace

/// One thread's work on ranks one after another.
class TickMatcher::Matching {
 public:
  explicit Matching(TickMatcher* matcher) : m_(*matcher) {}

  /// Picks, for every rank of the block, a chunk for as many channels as possible. Returns the number of picks.
  std::int64_t match_block(int block, int round) {
    round_ = round;
    tick_ = m_.first_tick_ + round * m_.span_;
    const std::span<const Rank> ranks = m_.blocks_[block];
    std::int64_t delivered = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (i + kLogsAhead < ranks.size()) prefetch_logs(ranks[i + kLogsAhead]);
      if (i + kEntriesAhead < ranks.size()) prefetch_entries(ranks[i + kEntriesAhead]);
      if (i + kBitsAhead < ranks.size()) prefetch_bits(ranks[i + kBitsAhead]);
      delivered += match(ranks[i]);
    }
    return delivered;
  }

  /// Channels asked and log entries looked at so far.
  std::int64_t work() const { return work_; }

 private:
  std::int32_t match(Rank rank);
  void match_tick(std::uint32_t start, std::int32_t* lacks);
  std::uint32_t take_oldest(std::uint32_t place);
  bool take_from_another(std::uint32_t place);
  bool augment(std::uint32_t place);
  bool look_further(Feed* feed, const ChunkArrivals& log);
  bool has_left(std::uint32_t place) const {
    const Feed& feed = m_.feeds_[place];
    return feed.lacked != 0 || feed.looked_at != m_.visible_end(feed.source, tick_);
  }
  bool is_there(Rank rank, std::uint32_t chunk) const;
  void prefetch_logs(Rank rank) const;
  void prefetch_entries(Rank rank) const;
  void prefetch_bits(Rank rank) const;
  Rank source(std::uint32_t place) const { return m_.feeds_[place].source; }
  const ChunkArrivals& log_of(const Feed& feed) const {
    return m_.log_[static_cast<std::size_t>(feed.source)];
  }

  TickMatcher& m_;
  int round_ = 0;
  int tick_ = 0;                    ///< the round's first
  std::uint32_t* picks_ = nullptr;  ///< the tick's table
  std::uint64_t* have_ = nullptr;
  std::uint32_t first_ = 0, last_ = 0;  ///< places of the channels into the rank
  bool gets_help_ = false;
  std::vector<bool> visited_;
  int probes_left_ = 0;
  std::int64_t work_ = 0;
};

TickMatcher::TickMatcher(const Flood& flood, std::uint64_t seed, int lag)
    : channels_(flood.channels),
      blocks_(flood.channels, kLeastBlock),
      lag_(lag),
      seed_(seed),
      have_(flood.start.size(), flood.chunk_count),
      lacks_(flood.start.size()),
      log_(flood.start.size()),
      place_of_(channels_.count()) {
  for (Rank rank : indices<Rank>(channels_.rank_count())) {
    const auto r = static_cast<std::size_t>(rank);
    for (Chunk chunk : flood.start[r]) {
      insert(have_[rank], static_cast<std::uint32_t>(chunk));
      log_[r].append(static_cast<std::uint32_t>(chunk));
    }
    lacks_[r] = flood.chunk_count - static_cast<int>(flood.start[r].size());
    missing_ += lacks_[r];
  }
  // In a round a chunk gets no further than to the next block: crossing all of them must take a part of the time only.
  const int crossing = ticks_left() / (kCrossings * blocks_.count());
  most_span_ = span_for(ticks_left() / 2, std::clamp(crossing, kUnaided, kMostSpan));
  ring_ = std::bit_ceil(static_cast<std::size_t>(lag + most_span_) + 2);
  visible_end_.resize(ring_ * flood.start.size());
  for (Rank rank : indices<Rank>(channels_.rank_count()))
    for (std::size_t tick = 0; tick < ring_; ++tick)
      visible_end(rank, static_cast<int>(tick)) = log_[static_cast<std::size_t>(rank)].end();
  feeds_.reserve(channels_.count());
  for (const std::uint32_t c : channels_.by_destination()) {
    place_of_[c] = static_cast<std::uint32_t>(feeds_.size());
    feeds_.push_back({0, 0, channels_[c].src});
  }
}

/// What the links into the slowest rank still need.
int TickMatcher::ticks_left() const {
  std::int32_t ticks = 0;
  for (Rank rank : indices<Rank>(channels_.rank_count())) {
    const auto ports = static_cast<std::int32_t>(channels_.first_in(rank + 1) - channels_.first_in(rank));
    if (ports > 0) ticks = std::max(ticks, lacks_[static_cast<std::size_t>(rank)] / ports);
  }
  return ticks;
}

/// Long rounds cost less time, but hand a chunk on one hop a round: they come when a while has passed in which chunks
/// have spread, and go before the slowest rank is done.
int TickMatcher::span_for(int ticks, int most) {
  const int calm = ticks / kCalm;
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::clamp(calm, 1, most))));
}

std::int64_t TickMatcher::advance(int threads) {
  std::atomic<std::int64_t> delivered{0}, worked{0};
  std::barrier wave_done(threads);
  const int left = ticks_left();
  span_ = span_for(std::min(first_tick_, left), most_span_);
  picks_.first_tick = first_tick_;
  picks_.tick_count = kRounds * span_;
  aided_from_ = left - left / kLead - picks_.tick_count;
  picks_.tables.resize(std::max(picks_.tables.size(), row(picks_.tick_count)));
  // In one wave, the blocks of different rounds are two apart: none reads what another writes.
  const auto work = [&](int first) {
    Matching matching(this);
    std::int64_t mine = 0;
    for (int wave = 0; wave < wave_count(); ++wave) {
      for (int round = first; round < kRounds; round += threads)
        if (const int block = block_in(wave, round); block >= 0 && block < blocks_.count())
          mine += matching.match_block(block, round);
      if (threads > 1) wave_done.arrive_and_wait();
    }
    delivered += mine;
    worked += matching.work();
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  for (std::thread& thread : others) thread.join();
  missing_ -= delivered;
  first_tick_ += picks_.tick_count;
  forget_logs();
  heed_interrupt(worked);
  return delivered;
}

void TickMatcher::forget_logs() {
  for (Rank rank : indices<Rank>(channels_.rank_count())) {
    ChunkArrivals& log = log_[static_cast<std::size_t>(rank)];
    if (!log.is_worth_forgetting()) continue;
    std::uint32_t slowest = log.end();
    for (std::uint32_t c = channels_.first_out(rank); c < channels_.first_out(rank + 1); ++c)
      if (lacks_[static_cast<std::size_t>(channels_[c].dst)] > 0)
        slowest = std::min(slowest, feeds_[place_of_[c]].first());
    log.forget_before(slowest);
  }
}

std::int32_t TickMatcher::Matching::match(Rank rank) {
  first_ = m_.channels_.first_in(rank);
  last_ = m_.channels_.first_in(rank + 1);
  have_ = m_.have_[rank];
  ChunkArrivals& log = m_.log_[static_cast<std::size_t>(rank)];
  std::int32_t& lacks = m_.lacks_[static_cast<std::size_t>(rank)];
  const std::int32_t lacked = lacks;
  gets_help_ = m_.span_ < kUnaided && lacks >= m_.aided_from_ * static_cast<std::int32_t>(last_ - first_);
  const auto turn = static_cast<std::uint64_t>(tick_) << 32 | static_cast<std::uint32_t>(rank);
  std::uint32_t start = lacks > 0 ? Random(m_.seed_ ^ turn).below(last_ - first_) : 0;
  for (int tick = 0; tick < m_.span_; ++tick) {
    picks_ = m_.picks_.tables.data() + m_.row(round_ * m_.span_ + tick);
    std::fill(picks_ + first_, picks_ + last_, kIdle);
    work_ += last_ - first_;
    if (lacks > 0) {
      match_tick(first_ + start, &lacks);
      log.append({picks_ + first_, picks_ + last_}, kIdle);
      if (++start == last_ - first_) start = 0;
    }
    m_.visible_end(rank, tick_ + tick + 1 + m_.lag_) = log.end();
  }
  return lacked - lacks;
}

/// Picks for the channels into the rank, from place `start` on and round.
void TickMatcher::Matching::match_tick(std::uint32_t start, std::int32_t* lacks) {
  probes_left_ = kMaxProbes;
  std::uint32_t place = start;
  for (std::uint32_t i = first_; i < last_ && *lacks > 0; ++i) {
    const std::uint32_t chunk = take_oldest(place);
    if (chunk != kIdle) picks_[place] = chunk;
    *lacks -= chunk != kIdle || (gets_help_ && take_from_another(place));
    if (++place == last_) place = first_;
  }
}

/// Takes the oldest chunk in the log of the channel's source that the rank lacks; kIdle if there is none.
inline std::uint32_t TickMatcher::Matching::take_oldest(std::uint32_t place) {
  Feed& feed = m_.feeds_[place];
  const ChunkArrivals& log = log_of(feed);
  while (feed.lacked != 0 || look_further(&feed, log)) {
    const std::uint32_t chunk = *log.at(feed.first());
    feed.lacked &= feed.lacked - 1;
    if (contains(have_, chunk)) continue;  // another channel has brought it since
    insert(have_, chunk);
    return chunk;
  }
  return kIdle;
}

/// Looks at the next entries of the log until some name chunks that the rank lacks. All bits of a piece are tested
/// whatever the first ones say: a branch for each costs more than they do.
bool TickMatcher::Matching::look_further(Feed* feed, const ChunkArrivals& log) {
  const std::uint32_t end = m_.visible_end(feed->source, tick_);
  while (feed->lacked == 0 && feed->looked_at != end) {
    const std::uint32_t count = std::min(end - feed->looked_at, Feed::kPiece);
    const std::uint32_t* const entry = log.at(feed->looked_at);
    std::uint64_t lacked = 0;
    for (std::uint32_t i = 0; i < count; ++i)
      lacked = lacked >> 1 | std::uint64_t{!contains(have_, entry[i])} << 63;
    feed->lacked = lacked;
    feed->looked_at += count;
    work_ += count;
  }
  return feed->lacked != 0;
}

bool TickMatcher::Matching::take_from_another(std::uint32_t place) {
  bool any_left = false;
  for (std::uint32_t other = first_; other < last_ && !any_left; ++other) any_left = has_left(other);
  if (!any_left) return false;
  visited_.assign(last_ - first_, false);
  return augment(place);
}

/// Hands the channel another channel's chunk after finding that one a new chunk, in the same way if need be.
bool TickMatcher::Matching::augment(std::uint32_t place) {
  visited_[place - first_] = true;
  for (std::uint32_t other = first_; other < last_; ++other) {
    if (visited_[other - first_] || picks_[other] == kIdle) continue;
    if (--probes_left_ < 0) return false;
    ++work_;
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

/// Whether the rank may send the chunk on in this tick: it has it, and not only since lately.
bool TickMatcher::Matching::is_there(Rank rank, std::uint32_t chunk) const {
  if (!contains(m_.have_[rank], chunk)) return false;
  const ChunkArrivals& log = m_.log_[static_cast<std::size_t>(rank)];
  const std::uint32_t *lately = log.at(m_.visible_end(rank, tick_)), *now = log.at(log.end());
  return std::find(lately, now, chunk) == now;
}

void TickMatcher::Matching::prefetch_logs(Rank rank) const {
  const std::uint32_t last = m_.channels_.first_in(rank + 1);
  for (std::uint32_t place = m_.channels_.first_in(rank); place < last; ++place) {
    __builtin_prefetch(&log_of(m_.feeds_[place]));
    __builtin_prefetch(&m_.visible_end(source(place), tick_));
  }
}

/// The next entry that may be taken, and the piece that will be looked at next.
void TickMatcher::Matching::prefetch_entries(Rank rank) const {
  const std::uint32_t last = m_.channels_.first_in(rank + 1);
  for (std::uint32_t place = m_.channels_.first_in(rank); place < last; ++place) {
    const Feed& feed = m_.feeds_[place];
    const ChunkArrivals& log = log_of(feed);
    __builtin_prefetch(log.at(feed.first()));
    for (std::uint32_t entry = 0; entry < Feed::kPiece; entry += kEntriesInLine)
      __builtin_prefetch(log.at(feed.looked_at + entry));
  }
}

/// All of them: a round tests hundreds.
void TickMatcher::Matching::prefetch_bits(Rank rank) const {
  if (m_.lacks_[static_cast<std::size_t>(rank)] == 0) return;
  const std::uint64_t* const have = m_.have_[rank];
  for (std::size_t word = 0; word < m_.have_.words(); word += kWordsInLine)
    __builtin_prefetch(have + word, 1);
}

}  // namespace hemiola::synthesis
