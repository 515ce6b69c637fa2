#include "hemiola/synthesis/channels.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "hemiola/base/error.hpp"

namespace hemiola::synthesis {
namespace {

/// The links between ranks, the best of parallel ones only.
std::vector<Link> best_links(const Topology& topology) {
  std::vector<Link> links = topology.links();
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return std::tie(a.src, a.dst, a.latency, b.bandwidth_Bps) <
           std::tie(b.src, b.dst, b.latency, a.bandwidth_Bps);
  });
  const auto same_pair = [](const Link& a, const Link& b) { return a.src == b.src && a.dst == b.dst; };
  links.erase(std::unique(links.begin(), links.end(), same_pair), links.end());
  return links;
}

Channel channel_of(const Link& link, std::int64_t chunk_bytes, LatencyModel latency) {
  const Picoseconds serialization = serialization_time(chunk_bytes, link.bandwidth_Bps);
  Channel channel{Rank{link.src}, Rank{link.dst}, serialization, serialization + link.latency};
  if (latency == LatencyModel::occupies) channel.busy = channel.delay;
  return channel;
}

}  // namespace

Channels::Channels(const Topology& topology, std::int64_t chunk_bytes, LatencyModel latency)
    : rank_count_(topology.rank_count()) {
  if (topology.switch_count() > 0)
    throw ArgumentError("synthesize: expected a topology of links between ranks, found " +
                        std::to_string(topology.switch_count()) + " switches. Unwind them first.");
  for (const Link& link : best_links(topology)) channels_.push_back(channel_of(link, chunk_bytes, latency));
  index_ends();
}

Channels::Channels(int rank_count, std::vector<Channel> channels)
    : rank_count_(rank_count), channels_(std::move(channels)) {
  std::sort(channels_.begin(), channels_.end(), [](const Channel& a, const Channel& b) {
    return std::tie(a.src, a.dst) < std::tie(b.src, b.dst);
  });
  index_ends();
}

void Channels::index_ends() {
  const auto slots = static_cast<std::size_t>(rank_count_) + 1;
  out_offset_.assign(slots, 0);
  in_offset_.assign(slots, 0);
  for (const Channel& c : channels_) {
    ++out_offset_[static_cast<std::size_t>(c.src) + 1];
    ++in_offset_[static_cast<std::size_t>(c.dst) + 1];
  }
  for (std::size_t r = 1; r < slots; ++r) {
    out_offset_[r] += out_offset_[r - 1];
    in_offset_[r] += in_offset_[r - 1];
  }
  std::vector<std::uint32_t> next(in_offset_.begin(), in_offset_.end() - 1);
  in_.resize(channels_.size());
  for (std::uint32_t c = 0; c < count(); ++c) in_[next[static_cast<std::size_t>(channels_[c].dst)]++] = c;
}

Channels Channels::reversed() const {
  std::vector<Channel> turned = channels_;
  for (Channel& c : turned) std::swap(c.src, c.dst);
  return Channels(rank_count_, std::move(turned));
}

bool Channels::is_uniform() const {
  return std::all_of(channels_.begin(), channels_.end(), [&](const Channel& c) {
    return c.busy == channels_[0].busy && c.delay == channels_[0].delay;
  });
}

std::span<const std::uint32_t> Channels::into(Rank rank) const {
  return {in_.data() + first_in(rank), in_.data() + first_in(rank + 1)};
}

}  // namespace hemiola::synthesis
