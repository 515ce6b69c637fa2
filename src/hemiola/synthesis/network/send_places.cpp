// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/network/send_places.hpp"

#include <numeric>

#include "hemiola/base/heedful.hpp"

namespace hemiola::synthesis {
namespace {

/// Slots are numbered as they are used where a table of all is more than so many times as long as the list of sends.
constexpr std::size_t kSparse = 4;

/// Numbers of sends, by chunk, as they are listed.
std::vector<std::uint32_t> by_chunk(const Sends& sends, std::size_t chunk_count) {
  std::vector<std::uint32_t> next(chunk_count + 1, 0), order(sends.size());
  for (const Send& send : sends) ++next[send.chunk + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for_heedful_blocks(sends.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) order[next[sends[i].chunk]++] = static_cast<std::uint32_t>(i);
  });
  return order;
}

}  // namespace

SendPlaces::SendPlaces(const Channels& channels, const Sends& sends, int chunk_count)
    : channels_(channels),
      sends_(sends),
      chunk_count_(static_cast<std::size_t>(chunk_count)),
      count_(static_cast<std::size_t>(channels.rank_count()) * chunk_count_) {
  if (!sends.empty() && count_ > kSparse * sends.size()) number_used();
}

/// Chunk by chunk, so that a number per rank holds the state of the chunk at hand.
void SendPlaces::number_used() {
  struct Known {
    std::uint32_t chunk = ~0u;
    std::uint32_t place = 0;
  };
  std::vector<Known> known(static_cast<std::size_t>(channels_.rank_count()));
  count_ = 0;
  const auto place_of = [&](Rank rank, std::uint32_t chunk) {
    Known& at = known[static_cast<std::size_t>(rank)];
    if (at.chunk != chunk) at = {chunk, static_cast<std::uint32_t>(count_++)};
    return at.place;
  };
  used_.resize(sends_.size());
  const std::vector<std::uint32_t> order = by_chunk(sends_, chunk_count_);
  for_heedful_blocks(order.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Send& send = sends_[order[i]];
      const Channel& ends = channels_[send.channel];
      used_[order[i]] = {place_of(ends.src, send.chunk), place_of(ends.dst, send.chunk)};
    }
  });
}

}  // namespace hemiola::synthesis
