#include "hemiola/synthesis/assemble.hpp"

#include <algorithm>
#include <numeric>

namespace hemiola::synthesis {
namespace {

/// The order that sorts `keys` (all below `bound`), applied to `order`; equal keys stay as they were.
template <typename Key>
std::vector<std::uint32_t> counting_sort(const std::vector<Key>& keys, std::size_t bound,
                                         const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> next(bound + 1, 0);
  for (const Key key : keys) ++next[static_cast<std::size_t>(key) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<std::uint32_t> sorted(order.size());
  for (const std::uint32_t i : order) sorted[next[static_cast<std::size_t>(keys[i])]++] = i;
  return sorted;
}

Sends sorted_by_step_and_channel(const Sends& sends, std::uint32_t channel_count) {
  std::vector<std::uint32_t> order(sends.size());
  std::iota(order.begin(), order.end(), 0u);
  order = counting_sort(sends.channel, channel_count, order);
  const auto last = std::max_element(sends.step.begin(), sends.step.end());
  order =
      counting_sort(sends.step, last == sends.step.end() ? 1 : static_cast<std::size_t>(*last) + 1, order);
  Sends sorted;
  sorted.reserve(sends.size());
  for (const std::uint32_t i : order)
    sorted.add(sends.step[i], sends.channel[i], sends.chunk[i], sends.reduce[i]);
  return sorted;
}

bool is_sorted(const Sends& sends) {
  for (std::size_t i = 1; i < sends.size(); ++i)
    if (sends.step[i - 1] > sends.step[i] ||
        (sends.step[i - 1] == sends.step[i] && sends.channel[i - 1] >= sends.channel[i]))
      return false;
  return true;
}

}  // namespace

Sends turned_round(const Sends& sends, const Channels& channels) {
  // The reversed network's channels, sorted by their sources, are this one's sorted by destination.
  const std::span<const std::uint32_t> by_destination = channels.by_destination();
  const int last = sends.step_count() - 1;
  Sends turned;
  turned.reserve(sends.size());
  for (std::size_t i = sends.size(); i-- > 0;)
    turned.add(last - sends.step[i], by_destination[sends.channel[i]], sends.chunk[i], true);
  return sorted_by_step_and_channel(turned, channels.count());
}

Sends concatenated(const Sends& first, const Sends& second) {
  Sends all = first;
  all.reserve(first.size() + second.size());
  const int offset = first.step_count();
  for (std::size_t i = 0; i < second.size(); ++i)
    all.add(offset + second.step[i], second.channel[i], second.chunk[i], second.reduce[i]);
  return all;
}

Schedule assemble(Collective collective, const Channels& channels, const Sends& given) {
  const Sends sorted = is_sorted(given) ? Sends{} : sorted_by_step_and_channel(given, channels.count());
  const Sends& sends = sorted.size() > 0 ? sorted : given;
  Schedule::Columns columns;
  std::vector<std::uint32_t> pair_of(channels.count(), 0);
  for (const std::uint32_t c : sends.channel) pair_of[c] = 1;
  for (std::uint32_t c = 0; c < channels.count(); ++c)
    if (pair_of[c] == 1) {
      pair_of[c] = static_cast<std::uint32_t>(columns.pairs.size());
      columns.pairs.push_back({channels[c].src, channels[c].dst});
    }
  columns.step_offset.assign(static_cast<std::size_t>(sends.step_count()) + 1, 0);
  columns.link.resize(sends.size());
  columns.reduce_words.assign((sends.size() + 63) / 64, 0);
  for (std::size_t i = 0; i < sends.size(); ++i) {
    ++columns.step_offset[static_cast<std::size_t>(sends.step[i]) + 1];
    columns.link[i] = pair_of[sends.channel[i]];
    if (sends.reduce[i]) columns.reduce_words[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  std::partial_sum(columns.step_offset.begin(), columns.step_offset.end(), columns.step_offset.begin());
  columns.chunk = sends.chunk;
  return Schedule::from_columns(std::move(collective), std::move(columns));
}

}  // namespace hemiola::synthesis
