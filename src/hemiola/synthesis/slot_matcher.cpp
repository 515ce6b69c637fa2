#include "hemiola/synthesis/slot_matcher.hpp"

#include <algorithm>

#include "hemiola/base/error.hpp"
#include "hemiola/base/random.hpp"

namespace hemiola::synthesis {
namespace {

/// Probes of other channels' picks per rank and slot; bounds the matching on ranks with hundreds of channels.
constexpr int kMaxProbes = 256;

}  // namespace

SlotMatcher::SlotMatcher(const Flood& flood, std::uint64_t seed, int lag)
    : channels_(flood.channels),
      lag_(lag),
      seed_(seed),
      have_(flood.start.size(), flood.chunk_count),
      lacks_(flood.start.size()),
      log_(flood.start.size()),
      cursor_(channels_.count(), 0),
      on_way_(static_cast<std::size_t>(lag) + 1, std::vector<std::uint32_t>(channels_.count(), kIdle)),
      place_of_(channels_.count()),
      by_channel_(channels_.count(), kIdle) {
  for (Rank rank : indices<Rank>(rank_count())) {
    const auto r = static_cast<std::size_t>(rank);
    for (Chunk chunk : flood.start[r]) {
      insert(have_[rank], static_cast<std::uint32_t>(chunk));
      log_[r].append(static_cast<std::uint32_t>(chunk));
    }
    lacks_[r] = flood.chunk_count - static_cast<int>(flood.start[r].size());
    missing_ += lacks_[r];
    const auto into = channels_.into(rank);
    for (std::uint32_t i = 0; i < into.size(); ++i) place_of_[into[i]] = channels_.first_in(rank) + i;
  }
}

bool SlotMatcher::is_there(Rank rank, std::uint32_t chunk) const {
  if (!contains(have_[rank], chunk)) return false;
  if (lag_ == 0) return true;
  for (int back = 1; back <= std::min(lag_, slot_); ++back) {
    const auto& picks = on_way_[static_cast<std::size_t>((slot_ - back) % (lag_ + 1))];
    const auto begin = picks.begin() + channels_.first_in(rank),
               end = picks.begin() + channels_.first_in(rank + 1);
    if (std::find(begin, end, chunk) != end) return false;
  }
  return true;
}

std::int64_t SlotMatcher::commit(Rank rank) {
  const auto r = static_cast<std::size_t>(rank);
  const std::uint32_t first = channels_.first_in(rank), last = channels_.first_in(rank + 1);
  std::int32_t delivered = 0;
  for (std::uint32_t p = first; p < last; ++p)
    if (const std::uint32_t chunk = row(slot_)[p]; chunk != kIdle) {
      insert(have_[rank], chunk);
      ++delivered;
    }
  lacks_[r] -= delivered;
  // The oldest row's chunks arrive; with a lag of 0 that is the row just picked. Its place is the next slot's.
  auto& arriving = row(slot_ + 1);
  for (std::uint32_t p = first; p < last; ++p)
    if (arriving[p] != kIdle) {
      log_[r].append(arriving[p]);
      if (lag_ > 0) arriving[p] = kIdle;
    }
  forget_log(rank);
  return delivered;
}

void SlotMatcher::forget_log(Rank rank) {
  const auto r = static_cast<std::size_t>(rank);
  if (!log_[r].is_worth_forgetting()) return;
  std::uint32_t slowest = log_[r].end();
  for (std::uint32_t c = channels_.first_out(rank); c < channels_.first_out(rank + 1); ++c)
    if (lacks_[static_cast<std::size_t>(channels_[c].dst)] > 0)
      slowest = std::min(slowest, cursor_[place_of_[c]]);
  log_[r].forget_before(slowest);
}

void SlotMatcher::close_slot(std::int64_t delivered) {
  missing_ -= delivered;
  ++slot_;
}

void SlotMatcher::Matching::match(Rank rank) {
  const std::uint32_t first = matcher_.channels_.first_in(rank);
  into_ = matcher_.channels_.into(rank);
  pick_ = matcher_.row(matcher_.slot_).data() + first;
  std::fill_n(pick_, into_.size(), kIdle);
  const std::int32_t lacks = matcher_.lacks_[static_cast<std::size_t>(rank)];
  if (lacks > 0) {
    have_ = matcher_.have_[rank];
    cursor_ = matcher_.cursor_.data() + first;
    probes_left_ = kMaxProbes;
    Random random(matcher_.seed_ ^
                  (static_cast<std::uint64_t>(matcher_.slot_) << 32 | static_cast<std::uint32_t>(rank)));
    const std::size_t offset = random.below(static_cast<std::uint32_t>(into_.size()));
    std::int32_t left = lacks;
    for (std::size_t i = 0; i < into_.size() && left > 0; ++i) {
      const std::size_t channel = (i + offset) % into_.size();
      left -= take_oldest(channel) || take_from_another(channel);
    }
    for (std::size_t e = 0; e < into_.size(); ++e)
      if (pick_[e] != kIdle) remove(claimed_.data(), pick_[e]);
  }
  for (std::size_t e = 0; e < into_.size(); ++e) matcher_.by_channel_[into_[e]] = pick_[e];
}

void SlotMatcher::Matching::set_pick(std::size_t channel, std::uint32_t chunk) {
  pick_[channel] = chunk;
  insert(claimed_.data(), chunk);
}

bool SlotMatcher::Matching::take_oldest(std::size_t channel) {
  const ArrivalLog& log = matcher_.log_[static_cast<std::size_t>(matcher_.channels_[into_[channel]].src)];
  const std::uint32_t end = log.end();
  // A claimed chunk may be passed for good too: it will be there when the slot is committed.
  for (std::uint32_t& at = cursor_[channel]; at < end; ++at) {
    const std::uint32_t chunk = log[at];
    if (contains(have_, chunk) || contains(claimed_.data(), chunk)) continue;
    set_pick(channel, chunk);
    ++at;
    return true;
  }
  return false;
}

bool SlotMatcher::Matching::take_from_another(std::size_t channel) {
  visited_.assign(into_.size(), false);
  return augment(channel);
}

/// Hands the channel another channel's chunk after finding that one a new chunk, in the same way if need be.
bool SlotMatcher::Matching::augment(std::size_t channel) {
  visited_[channel] = true;
  const Rank src = matcher_.channels_[into_[channel]].src;
  for (std::size_t other = 0; other < into_.size(); ++other) {
    if (visited_[other] || pick_[other] == kIdle) continue;
    if (--probes_left_ < 0) return false;
    const std::uint32_t chunk = pick_[other];
    if (!matcher_.is_there(src, chunk) || !(take_oldest(other) || augment(other))) continue;
    set_pick(channel, chunk);
    return true;
  }
  return false;
}

}  // namespace hemiola::synthesis
