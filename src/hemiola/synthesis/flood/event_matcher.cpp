// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/flood/event_matcher.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/forecast.hpp"
#include "hemiola/base/interrupt.hpp"
#include "hemiola/base/longest.hpp"

namespace hemiola::synthesis {
namespace {

/// Sends between two looks at the search state.
constexpr std::int64_t kReportEvery = 4096;

}  // namespace

EventMatcher::EventMatcher(const Flood& flood, const SpeedClasses& classes, std::uint64_t seed,
                           PeerOrder order)
    : channels_(flood.channels),
      classes_(classes),
      order_(order),
      random_(seed),
      wide_(channels_, classes_),
      turns_(wide_.has_any() ? classes_.count() + 1 : 0, channels_.rank_count()),
      have_(flood.start.size(), flood.chunk_count),
      holders_(wide_.has_any() ? static_cast<std::size_t>(flood.chunk_count) : 0, channels_.rank_count()),
      there_(flood.start.size(), flood.chunk_count),
      there_count_(flood.start.size(), 0),
      found_nothing_(channels_.count()),
      lacks_(flood.start.size(), flood.chunk_count),
      free_(channels_.link_count(), 0),
      turn_(channels_.link_count(), 0),
      is_closed_(channels_.link_count(), 0),
      narrow_out_(flood.start.size()),
      into_by_speed_(channels_.by_destination().begin(), channels_.by_destination().end()),
      is_marked_(channels_.count(), 0),
      waits_(channels_.count(), 0),
      waiting_into_(flood.start.size(), 0),
      under_way_to_(flood.start.size(), 0),
      looked_at_with_(flood.start.size(), flood.chunk_count),
      all_through_ranks_(static_cast<std::size_t>(classes_.count() + 1) * flood.start.size()),
      sends_around_(all_through_ranks_.size(), 0) {
  for (int speed = 1; speed <= classes_.count(); ++speed)
    rarity_.emplace_back(classes_.clusters(speed), classes_.cluster_count(speed), flood.chunk_count);
  for (std::uint32_t c = 0; c < channels_.count(); ++c) delay_.push_back(channels_.delay(c));
  index_links();
  find_told_by_ports();
  for (std::uint32_t c = 0; c < channels_.count(); ++c)
    if (!wide_.has(c)) narrow_out_[static_cast<std::size_t>(channels_[c].src)].push_back(c);
  for (Rank rank : indices<Rank>(channels_.rank_count()))
    std::stable_sort(
        into_by_speed_.begin() + channels_.first_in(rank),
        into_by_speed_.begin() + channels_.first_in(rank + 1),
        [&](std::uint32_t a, std::uint32_t b) { return classes_.class_of(a) < classes_.class_of(b); });
  hold_at_first(flood);
}

void EventMatcher::index_links() {
  over_offset_.assign(channels_.link_count() + 1, 0);
  head_start_.assign(channels_.link_count(), {std::numeric_limits<Picoseconds>::max(), 0});
  for (std::uint32_t c = 0; c < channels_.count(); ++c) {
    Picoseconds offset = 0;
    for (const Hop& hop : channels_.hops(c)) {
      if (!wide_.is_marked_over(c, hop.link)) ++over_offset_[hop.link + 1];
      auto& [soonest, latest] = head_start_[hop.link];
      soonest = std::min(soonest, offset);
      latest = std::max(latest, offset);
      offset += hop.delay;
    }
  }
  std::partial_sum(over_offset_.begin(), over_offset_.end(), over_offset_.begin());
  over_.resize(over_offset_.back());
  std::vector<std::uint32_t> next(over_offset_.begin(), over_offset_.end() - 1);
  for (std::uint32_t c = 0; c < channels_.count(); ++c)
    for (const Hop& hop : channels_.hops(c))
      if (!wide_.is_marked_over(c, hop.link)) over_[next[hop.link]++] = c;
}

void EventMatcher::find_told_by_ports() {
  is_told_by_port_.assign(channels_.count(), 0);
  for (std::uint32_t c = 0; c < channels_.count(); ++c)
    is_told_by_port_[c] = wide_.has(c) && std::ranges::all_of(channels_.hops(c), [&](const Hop& hop) {
                            const auto [soonest, latest] = head_start_[hop.link];
                            return soonest == latest && wide_.is_marked_over(c, hop.link);
                          });
}

void EventMatcher::hold_at_first(const Flood& flood) {
  for (Rank rank : indices<Rank>(channels_.rank_count()))
    for (Chunk chunk : flood.start[static_cast<std::size_t>(rank)]) {
      expect(rank, static_cast<std::uint32_t>(chunk));
      arrive(rank, static_cast<std::uint32_t>(chunk));
    }
  missing_ = std::accumulate(lacks_.begin(), lacks_.end(), std::int64_t{0});
}

bool EventMatcher::run(SearchState* state, Sends* sends) {
  sends_ = sends;
  std::size_t reported = sends->size();
  const Forecast forecast;
  mark_all();
  while (true) {
    match_marked();
    heed_interrupt(std::exchange(work_, 0));
    if (missing_ == 0) break;
    if (sends->size() - reported >= kReportEvery) {
      if (!state->advance(static_cast<std::int64_t>(sends->size() - reported))) return false;
      forecast.at(static_cast<double>(sends->size()) /
                  static_cast<double>(sends->size() + static_cast<std::size_t>(missing_)));
      reported = sends->size();
    }
    if (events_.empty()) {
      // Every slow channel left its chunk to a faster one that cannot have it: stop being patient.
      HEMIOLA_CHECK(patient_, "a reachable flood must come to its end");
      patient_ = false;
      mark_all();
      continue;
    }
    now_ = within_longest(events_.top().time);
    while (!events_.empty() && events_.top().time == now_) {
      handle(events_.top());
      events_.pop();
    }
  }
  return state->advance(static_cast<std::int64_t>(sends->size() - reported));
}

void EventMatcher::mark(std::uint32_t channel) {
  if (wide_.has(channel)) return wide_.mark(channel);
  if (is_marked_[channel] || lacks_[static_cast<std::size_t>(channels_[channel].dst)] == 0) return;
  is_marked_[channel] = 1;
  marked_.push_back(channel);
}

void EventMatcher::mark_all() {
  for (std::uint32_t c = 0; c < channels_.count(); ++c) mark(c);
}

/// Sorts by class, then by preference among the peers of a port, then by source.
std::uint64_t EventMatcher::priority(std::uint32_t channel, int preference) const {
  return static_cast<std::uint64_t>(classes_.class_of(channel)) << 60 |
         static_cast<std::uint64_t>(preference) << 32 | channel;
}

/// The rank, or the place, that a port prefers before all others; then the next ones, round to the one before it.
int EventMatcher::first_choice(Rank src, std::uint32_t link) const {
  return (static_cast<int>(src) + (order_ == PeerOrder::rotating ? turn_[link] + 1 : 0)) %
         channels_.rank_count();
}

void EventMatcher::match_marked() {
  const int n = channels_.rank_count();
  work_ += static_cast<std::int64_t>(marked_.size());
  std::vector<std::uint64_t> narrow;
  narrow.reserve(marked_.size());
  for (const std::uint32_t c : marked_) {
    is_marked_[c] = 0;
    if (!is_open(c)) continue;
    const int first = first_choice(channels_[c].src, channels_.hops(c)[0].link);
    narrow.push_back(priority(c, (static_cast<int>(channels_[c].dst) - first + n) % n));
  }
  marked_.clear();
  std::sort(narrow.begin(), narrow.end());

  const auto add_next = [&](std::uint32_t port, int first, int passed) {
    const std::uint32_t channel = wide_.next_marked(port, first, &passed);
    if (channel != WidePorts::kNone) turns_.add(classes_.class_of(channel), {channel, port, first, passed});
  };
  wide_.for_each_marked(
      [&](std::uint32_t port) { add_next(port, first_choice(wide_.src(port), wide_.first_link(port)), 0); });

  auto next = narrow.begin();
  while (true) {
    const Turn* wide = turns_.next();
    if (next != narrow.end() && (wide == nullptr || *next < priority(wide->channel, wide->passed))) {
      match(static_cast<std::uint32_t>(*next++));
      continue;
    }
    if (wide == nullptr) break;
    const Turn turn = *wide;
    turns_.take();
    if (wide_.is_open(turn.port)) match(turn.channel);
    if (wide_.is_open(turn.port)) add_next(turn.port, turn.first, turn.passed + 1);
  }
  wide_.forget_marks();
}

void EventMatcher::match(std::uint32_t channel) {
  ++work_;
  if (!is_open(channel)) return;
  const std::uint32_t chunk = choose(channel);
  if (chunk == Rarity::kNone) return;
  const bool waits = chunk == kSooner || (patient_ && comes_sooner(channel, chunk));
  waiting_into_[static_cast<std::size_t>(channels_[channel].dst)] += waits - waits_[channel];
  waits_[channel] = waits;
  if (!waits) send(channel, chunk);
}

void EventMatcher::handle(const Event& event) {
  if (event.kind == Event::link_free) {
    note_whether_closed(event.what);
    wide_.mark_over(event.what);
    work_ += over_offset_[event.what + 1] - over_offset_[event.what];
    for (std::uint32_t i = over_offset_[event.what]; i < over_offset_[event.what + 1]; ++i) mark(over_[i]);
    return;
  }
  const Rank rank = channels_[event.what].dst;
  arrive(rank, event.chunk);
  work_ += static_cast<std::int64_t>(narrow_out_[static_cast<std::size_t>(rank)].size());
  for (const std::uint32_t c : narrow_out_[static_cast<std::size_t>(rank)])
    if (!contains(have_[channels_[c].dst], event.chunk)) mark(c);
  if (wide_.has_any()) wide_.mark_out_of(rank, holders_[static_cast<int>(event.chunk)]);
  const std::int32_t under_way = --under_way_to_[static_cast<std::size_t>(rank)];
  if (waiting_into_[static_cast<std::size_t>(rank)] == 0) return;
  std::int32_t& least = looked_at_with_[static_cast<std::size_t>(rank)];
  const std::int32_t lacking = lacks_[static_cast<std::size_t>(rank)];
  if (under_way > 0 && lacking > least / 2) return;
  least = lacking;
  for (const std::uint32_t c : channels_.into(rank))
    if (waits_[c]) mark(c);
}

/// Whether the link is still busy when a chunk that starts now gets there on any channel.
void EventMatcher::note_whether_closed(std::uint32_t link) {
  const bool is_closed = free_[link] > now_ + head_start_[link].second;
  if (is_closed == (is_closed_[link] != 0)) return;
  is_closed_[link] = is_closed;
  is_closed ? wide_.close(link) : wide_.open(link);
}

/// Whether a chunk that starts now finds every link of its way free.
bool EventMatcher::is_open(std::uint32_t channel) const {
  if (lacks_[static_cast<std::size_t>(channels_[channel].dst)] == 0) return false;
  if (is_told_by_port_[channel]) return wide_.is_channel_open(channel);
  Picoseconds at = now_;
  for (const Hop& hop : channels_.hops(channel)) {
    if (free_[hop.link] > at) return false;
    at += hop.delay;
  }
  return true;
}

/// kSooner for a chunk that faster channels bring sooner, whichever it is.
std::uint32_t EventMatcher::choose(std::uint32_t channel) {
  const int speed = classes_.class_of(channel);
  const Channel& ends = channels_[channel];
  const std::uint64_t *there = there_[ends.src], *have = have_[ends.dst];
  const Rarity& around = rarity_in(speed + 1);
  const int outer = classes_.cluster_of(speed + 1, ends.dst);
  FoundNothing& nothing = found_nothing_[channel];
  const std::int32_t source_has = there_count_[static_cast<std::size_t>(ends.src)];
  if (speed > 0) {
    const std::uint64_t* unknown = rarity_in(speed).unknown(classes_.cluster_of(speed, ends.dst));
    const std::uint32_t chunk =
        rarest_unless(nothing.unknown == source_has, around, outer, [=, this](std::size_t w) {
          ++work_;
          return there[w] & unknown[w];
        });
    if (chunk == Rarity::kNone) nothing.unknown = source_has;
    if (chunk != Rarity::kNone || !may_repeat(channel)) return chunk;
  }
  const auto lacking = [=, this](std::size_t w) {
    ++work_;
    return there[w] & ~have[w];
  };
  if (speed > 0 && patient_ && nothing.lacking != source_has && all_come_sooner(channel)) {
    const std::uint64_t dice = random_.next();
    return any_chunk(there_.words(), lacking, dice) == Rarity::kNone ? Rarity::kNone : kSooner;
  }
  const std::uint32_t chunk = rarest_unless(nothing.lacking == source_has, around, outer, lacking);
  if (chunk == Rarity::kNone) nothing.lacking = source_has;
  return chunk;
}

/// Nothing where that is known; the dice roll all the same, so that what is known changes no schedule.
template <typename Word>
std::uint32_t EventMatcher::rarest_unless(bool is_empty, const Rarity& around, int cluster, Word word) {
  if (!is_empty) return around.rarest(cluster, word, &random_);
  random_.next();
  return Rarity::kNone;
}

/// Whether faster channels, one from each other rank of the destination's cluster, could each bring all that it lacks
/// before this channel brings a chunk. What the cluster has then comes sooner, from whichever rank it is.
bool EventMatcher::all_come_sooner(std::uint32_t channel) {
  const int speed = classes_.class_of(channel);
  const Rank dst = channels_[channel].dst;
  AllThroughRanks& all = all_through_ranks_[static_cast<std::size_t>(speed) * there_count_.size() +
                                            static_cast<std::size_t>(dst)];
  if (all.now != now_ || all.sends != sends_around(speed, dst)) {
    all.now = now_;
    all.sends = sends_around(speed, dst);
    all.latest = latest_through_ranks(speed, dst);
  }
  return all.latest <= now_ + delay_[channel];
}

/// When the last of these channels would have brought all; kLongest where a rank of the cluster has none.
Picoseconds EventMatcher::latest_through_ranks(int speed, Rank dst) const {
  const auto lacking = static_cast<Picoseconds>(lacks_[static_cast<std::size_t>(dst)]);
  Picoseconds latest = now_;
  int faster_ones = 0;
  for (std::uint32_t i = channels_.first_in(dst); i < channels_.first_in(dst + 1); ++i) {
    const std::uint32_t faster = into_by_speed_[i];
    if (classes_.class_of(faster) >= speed) break;
    const Hop& port = channels_.hops(faster)[0];
    const Picoseconds start = std::max(free_[port.link], now_);
    const auto all = static_cast<__int128>(lacking - 1) * port.busy;
    const auto end = std::min<__int128>(start + all + delay_[faster], kLongest);
    latest = std::max(latest, static_cast<Picoseconds>(end));
    ++faster_ones;
  }
  const int others = classes_.cluster_size(speed, classes_.cluster_of(speed, dst)) - 1;
  return faster_ones == others ? latest : kLongest;
}

/// Whether the destination's own links will be busy for longer than those into its cluster: if not, every chunk that
/// enters the cluster twice costs time.
bool EventMatcher::may_repeat(std::uint32_t channel) {
  if (!patient_) return true;
  const int speed = classes_.class_of(channel);
  const Rank dst = channels_[channel].dst;
  const int cluster = classes_.cluster_of(speed, dst);
  const auto needed = static_cast<double>(rarity_in(speed).unknown_count(cluster));
  const auto lacking = static_cast<double>(lacks_[static_cast<std::size_t>(dst)]);
  return needed * classes_.rank_rate(dst) < lacking * classes_.cluster_rate(speed, cluster);
}

/// Whether a faster channel from a rank that has the chunk, or is about to, can bring everything that the destination
/// lacks before this channel could bring this one chunk.
bool EventMatcher::comes_sooner(std::uint32_t channel, std::uint32_t chunk) const {
  const Rank dst = channels_[channel].dst;
  const Picoseconds arrival = now_ + delay_[channel];
  const auto lacking = static_cast<Picoseconds>(lacks_[static_cast<std::size_t>(dst)]);
  for (std::uint32_t i = channels_.first_in(dst); i < channels_.first_in(dst + 1); ++i) {
    const std::uint32_t faster = into_by_speed_[i];
    if (classes_.class_of(faster) >= classes_.class_of(channel)) return false;
    if (!contains(have_[channels_[faster].src], chunk)) continue;
    const Hop& port = channels_.hops(faster)[0];
    const Picoseconds start = std::max(free_[port.link], now_);
    const auto all = static_cast<__int128>(lacking - 1) * port.busy;
    if (start + all + delay_[faster] <= arrival) return true;
  }
  return false;
}

void EventMatcher::send(std::uint32_t channel, std::uint32_t chunk) {
  const Channel& ends = channels_[channel];
  sends_->push_back({0, channel, chunk});
  expect(ends.dst, chunk);
  for (int speed = 1; speed <= classes_.count(); ++speed)
    for (const Rank end : {ends.src, ends.dst}) ++sends_around(speed, end);
  --missing_;
  Picoseconds at = now_;
  for (const Hop& hop : channels_.hops(channel)) {
    free_[hop.link] = at + hop.busy;
    note_whether_closed(hop.link);
    at += hop.delay;
    // What the link's users need to know is when a chunk that starts then finds it free.
    const auto [soonest, latest] = head_start_[hop.link];
    for (const Picoseconds ahead : {latest, soonest}) {
      events_.push({std::max(now_, free_[hop.link] - ahead), Event::link_free, hop.link, 0});
      if (soonest == latest) break;
    }
  }
  events_.push({at, Event::arrival, channel, chunk});
  ++under_way_to_[static_cast<std::size_t>(ends.dst)];
  const int n = channels_.rank_count();
  turn_[channels_.hops(channel)[0].link] = ((ends.dst - ends.src) % n + n) % n;
}

void EventMatcher::arrive(Rank rank, std::uint32_t chunk) {
  insert(there_[rank], chunk);
  ++there_count_[static_cast<std::size_t>(rank)];
}

void EventMatcher::expect(Rank rank, std::uint32_t chunk) {
  insert(have_[rank], chunk);
  if (wide_.has_any()) insert(holders_[static_cast<int>(chunk)], static_cast<std::uint32_t>(rank));
  --lacks_[static_cast<std::size_t>(rank)];
  for (int speed = 1; speed <= classes_.count(); ++speed)
    rarity_in(speed).add(classes_.cluster_of(speed, rank), chunk);
}

}  // namespace hemiola::synthesis
