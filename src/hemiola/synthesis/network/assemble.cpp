// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/network/assemble.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace hemiola::synthesis {
namespace {

/// Sorts by a key below `bound`; sends of equal keys stay in their order.
template <typename Key>
Sends sorted_by(const Sends& sends, std::size_t bound, Key key) {
  std::vector<std::uint32_t> next(bound + 1, 0);
  for (const Send& send : sends) ++next[key(send) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  Sends sorted(sends.size());
  for (const Send& send : sends) sorted[next[key(send)]++] = send;
  return sorted;
}

Sends sorted_by_step_and_channel(const Sends& sends, std::uint32_t channel_count) {
  const auto steps = static_cast<std::size_t>(step_count(sends));
  return sorted_by(sorted_by(sends, channel_count, [](const Send& s) { return std::size_t{s.channel}; }),
                   steps, [](const Send& s) { return static_cast<std::size_t>(s.step); });
}

/// Drops the channels that no send uses; returns each other one's number among the rest.
std::vector<std::uint32_t> number_used(const Channels& channels, const Sends& sends,
                                       std::vector<RankPair>* pairs) {
  std::vector<std::uint32_t> number(channels.count(), 0);
  for (const Send& send : sends) number[send.channel] = 1;
  for (std::uint32_t c = 0; c < channels.count(); ++c)
    if (number[c] == 1) {
      number[c] = static_cast<std::uint32_t>(pairs->size());
      pairs->push_back({channels[c].src, channels[c].dst});
    }
  return number;
}

}  // namespace

Sends turned_round(const Sends& sends, const Channels& channels) {
  // The reversed network's channels, sorted by their sources, are this one's sorted by destination.
  const std::span<const std::uint32_t> by_destination = channels.by_destination();
  const int last = step_count(sends) - 1;
  Sends turned;
  turned.reserve(sends.size());
  for (std::size_t i = sends.size(); i-- > 0;)
    turned.push_back({last - sends[i].step, by_destination[sends[i].channel], sends[i].chunk, true});
  return sorted_by_step_and_channel(turned, channels.count());
}

Sends concatenated(Sends first, const Sends& second) {
  const int offset = step_count(first);
  first.reserve(first.size() + second.size());
  for (Send send : second) {
    send.step += offset;
    first.push_back(send);
  }
  return first;
}

Schedule assemble(Collective collective, const Channels& channels, Sends sends) {
  if (!std::is_sorted(sends.begin(), sends.end()))
    sends = sorted_by_step_and_channel(sends, channels.count());
  Schedule::Columns columns;
  const std::vector<std::uint32_t> pair_of = number_used(channels, sends, &columns.pairs);
  columns.step_offset.assign(static_cast<std::size_t>(step_count(sends)) + 1, 0);
  columns.link.resize(sends.size());
  columns.chunk.resize(sends.size());
  columns.reduce_words.assign((sends.size() + 63) / 64, 0);
  for (std::size_t i = 0; i < sends.size(); ++i) {
    ++columns.step_offset[static_cast<std::size_t>(sends[i].step) + 1];
    columns.link[i] = pair_of[sends[i].channel];
    columns.chunk[i] = sends[i].chunk;
    columns.reduce_words[i / 64] |= std::uint64_t{sends[i].reduce} << (i % 64);
  }
  std::partial_sum(columns.step_offset.begin(), columns.step_offset.end(), columns.step_offset.begin());
  return Schedule::from_columns(std::move(collective), std::move(columns));
}

}  // namespace hemiola::synthesis
