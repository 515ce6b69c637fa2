#include "hemiola/synthesis/flood/event_matcher.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "hemiola/base/error.hpp"
#include "hemiola/synthesis/network/longest.hpp"

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
      have_(flood.start.size(), flood.chunk_count),
      there_(flood.start.size(), flood.chunk_count),
      lacks_(flood.start.size(), flood.chunk_count),
      free_(channels_.link_count(), 0),
      turn_(channels_.link_count(), 0),
      is_marked_(channels_.count(), 0),
      waits_(channels_.count(), 0) {
  for (int speed = 1; speed <= classes_.count(); ++speed)
    rarity_.emplace_back(classes_.clusters(speed), classes_.cluster_count(speed), flood.chunk_count);
  index_links();
  hold_at_first(flood);
}

void EventMatcher::index_links() {
  over_offset_.assign(channels_.link_count() + 1, 0);
  head_start_.assign(channels_.link_count(), {std::numeric_limits<Picoseconds>::max(), 0});
  for (std::uint32_t c = 0; c < channels_.count(); ++c) {
    Picoseconds offset = 0;
    for (const Hop& hop : channels_.hops(c)) {
      ++over_offset_[hop.link + 1];
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
    for (const Hop& hop : channels_.hops(c)) over_[next[hop.link]++] = c;
}

void EventMatcher::hold_at_first(const Flood& flood) {
  for (Rank rank : indices<Rank>(channels_.rank_count()))
    for (Chunk chunk : flood.start[static_cast<std::size_t>(rank)]) {
      expect(rank, static_cast<std::uint32_t>(chunk));
      insert(there_[rank], static_cast<std::uint32_t>(chunk));
    }
  missing_ = std::accumulate(lacks_.begin(), lacks_.end(), std::int64_t{0});
}

bool EventMatcher::run(SearchState* state, Sends* sends) {
  sends_ = sends;
  std::size_t reported = sends->size();
  mark_all();
  while (true) {
    match_marked();
    if (missing_ == 0) break;
    if (sends->size() - reported >= kReportEvery) {
      if (!state->advance(static_cast<std::int64_t>(sends->size() - reported))) return false;
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
  if (is_marked_[channel] || lacks_[static_cast<std::size_t>(channels_[channel].dst)] == 0) return;
  is_marked_[channel] = 1;
  marked_.push_back(channel);
}

void EventMatcher::mark_all() {
  for (std::uint32_t c = 0; c < channels_.count(); ++c) mark(c);
}

/// Sorts by class, then by preference among the peers of a port, then by source.
std::uint64_t EventMatcher::priority(std::uint32_t channel) const {
  const int n = channels_.rank_count();
  const Channel& ends = channels_[channel];
  int distance = ends.dst - ends.src;
  if (order_ == PeerOrder::rotating) distance -= turn_[channels_.hops(channel)[0].link] + 1;
  const auto preference = static_cast<std::uint64_t>(((distance % n) + n) % n);
  return static_cast<std::uint64_t>(classes_.class_of(channel)) << 60 | preference << 32 | channel;
}

void EventMatcher::match_marked() {
  std::vector<std::uint64_t> queue;
  queue.reserve(marked_.size());
  for (const std::uint32_t c : marked_) {
    is_marked_[c] = 0;
    if (is_open(c)) queue.push_back(priority(c));
  }
  marked_.clear();
  std::sort(queue.begin(), queue.end());
  for (const std::uint64_t entry : queue) {
    const auto channel = static_cast<std::uint32_t>(entry);
    if (!is_open(channel)) continue;
    const std::uint32_t chunk = choose(channel);
    if (chunk == Rarity::kNone) continue;
    waits_[channel] = patient_ && comes_sooner(channel, chunk);
    if (!waits_[channel]) send(channel, chunk);
  }
}

void EventMatcher::handle(const Event& event) {
  if (event.kind == Event::link_free) {
    for (std::uint32_t i = over_offset_[event.what]; i < over_offset_[event.what + 1]; ++i) mark(over_[i]);
    return;
  }
  const Rank rank = channels_[event.what].dst;
  insert(there_[rank], event.chunk);
  for (std::uint32_t c = channels_.first_out(rank); c < channels_.first_out(rank + 1); ++c)
    if (!contains(have_[channels_[c].dst], event.chunk)) mark(c);
  for (const std::uint32_t c : channels_.into(rank))
    if (waits_[c]) mark(c);
}

/// Whether a chunk that starts now finds every link of its way free.
bool EventMatcher::is_open(std::uint32_t channel) const {
  if (lacks_[static_cast<std::size_t>(channels_[channel].dst)] == 0) return false;
  Picoseconds at = now_;
  for (const Hop& hop : channels_.hops(channel)) {
    if (free_[hop.link] > at) return false;
    at += hop.delay;
  }
  return true;
}

std::uint32_t EventMatcher::choose(std::uint32_t channel) {
  const int speed = classes_.class_of(channel);
  const Channel& ends = channels_[channel];
  const std::uint64_t *there = there_[ends.src], *have = have_[ends.dst];
  const Rarity& around = rarity_in(speed + 1);
  const int outer = classes_.cluster_of(speed + 1, ends.dst);
  if (speed > 0) {
    const std::uint64_t* unknown = rarity_in(speed).unknown(classes_.cluster_of(speed, ends.dst));
    const std::uint32_t chunk =
        around.rarest(outer, [=](std::size_t w) { return there[w] & unknown[w]; }, &random_);
    if (chunk != Rarity::kNone || !may_repeat(channel)) return chunk;
  }
  return around.rarest(outer, [=](std::size_t w) { return there[w] & ~have[w]; }, &random_);
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
  const Picoseconds arrival = now_ + channels_.delay(channel);
  const auto lacking = static_cast<Picoseconds>(lacks_[static_cast<std::size_t>(dst)]);
  for (const std::uint32_t faster : channels_.into(dst)) {
    if (classes_.class_of(faster) >= classes_.class_of(channel)) continue;
    if (!contains(have_[channels_[faster].src], chunk)) continue;
    const Hop& port = channels_.hops(faster)[0];
    const Picoseconds start = std::max(free_[port.link], now_);
    const auto all = static_cast<__int128>(lacking - 1) * port.busy;
    if (start + all + channels_.delay(faster) <= arrival) return true;
  }
  return false;
}

void EventMatcher::send(std::uint32_t channel, std::uint32_t chunk) {
  const Channel& ends = channels_[channel];
  sends_->push_back({0, channel, chunk});
  expect(ends.dst, chunk);
  --missing_;
  Picoseconds at = now_;
  for (const Hop& hop : channels_.hops(channel)) {
    free_[hop.link] = at + hop.busy;
    at += hop.delay;
    // What the link's users need to know is when a chunk that starts then finds it free.
    const auto [soonest, latest] = head_start_[hop.link];
    for (const Picoseconds ahead : {latest, soonest}) {
      events_.push({std::max(now_, free_[hop.link] - ahead), Event::link_free, hop.link, 0});
      if (soonest == latest) break;
    }
  }
  events_.push({at, Event::arrival, channel, chunk});
  const int n = channels_.rank_count();
  turn_[channels_.hops(channel)[0].link] = ((ends.dst - ends.src) % n + n) % n;
}

void EventMatcher::expect(Rank rank, std::uint32_t chunk) {
  insert(have_[rank], chunk);
  --lacks_[static_cast<std::size_t>(rank)];
  for (int speed = 1; speed <= classes_.count(); ++speed)
    rarity_in(speed).add(classes_.cluster_of(speed, rank), chunk);
}

}  // namespace hemiola::synthesis
