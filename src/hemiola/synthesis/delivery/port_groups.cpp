// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/delivery/port_groups.hpp"

#include <algorithm>
#include <numeric>

#include "hemiola/base/heedful.hpp"

namespace hemiola::synthesis {
namespace {

constexpr std::uint32_t kNoPort = ~0u;

/// Two channels from the end of their first links on.
bool have_same_rest(const Channels& channels, std::uint32_t a, std::uint32_t b) {
  return std::ranges::equal(channels.hops(a).subspan(1), channels.hops(b).subspan(1));
}

}  // namespace

PortGroups::PortGroups(const Channels& channels) {
  cut_into_ports(channels);
  group_ports(channels);
}

/// A rank's ports are in the order of the first ranks that they lead to.
void PortGroups::cut_into_ports(const Channels& channels) {
  std::vector<std::uint32_t> port_of_link(channels.link_count(), kNoPort);
  begin_.push_back(0);
  for (int rank = 0; rank < channels.rank_count(); ++rank) {
    first_of_.push_back(static_cast<std::uint32_t>(begin_.size() - 1));
    for (std::uint32_t c = channels.first_out(rank); c < channels.first_out(rank + 1); ++c) {
      std::uint32_t& port = port_of_link[channels.hops(c)[0].link];
      if (port == kNoPort) {
        port = static_cast<std::uint32_t>(begin_.size() - 1);
        begin_.push_back(0);
      }
      ++begin_[port + 1];
    }
  }
  first_of_.push_back(static_cast<std::uint32_t>(begin_.size() - 1));
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<std::uint32_t> next = begin_;
  channels_.resize(channels.count());
  for_heedful_blocks(channels.count(), [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t c = begin; c < end; ++c) channels_[next[port_of_link[channels.hops(c)[0].link]]++] = c;
  });
}

/// A port belongs to the group in which its last rank is reached by the same links, if all others are, too.
void PortGroups::group_ports(const Channels& channels) {
  std::vector<Group> groups;
  std::vector<std::uint32_t> group_by_link(channels.link_count(), kNoPort);
  for (std::uint32_t port = 0; port + 1 < begin_.size(); ++port) {
    const std::span<const std::uint32_t> own = this->channels(port);
    heed_interrupt(static_cast<std::int64_t>(own.size()));
    // The first port of a group, which knows no way to its own rank, is that of the lowest rank.
    const std::span<const Hop> rest = channels.hops(own.back()).subspan(1);
    if (!rest.empty())
      if (const std::uint32_t g = group_by_link[rest[0].link];
          g != kNoPort && joins(channels, port, &groups[g])) {
        group_.push_back(g);
        continue;
      }
    const auto g = static_cast<std::uint32_t>(groups.size());
    for (const std::uint32_t c : own)
      if (channels.hops(c).size() > 1) group_by_link[channels.hops(c)[1].link] = g;
    groups.push_back({port, channels[own[0]].src, kNoPort});
    group_.push_back(g);
  }
  group_count_ = static_cast<std::uint32_t>(groups.size());
}

/// Both lists are by destination; each lacks its own rank, which the other's has.
bool PortGroups::joins(const Channels& channels, std::uint32_t port, Group* group) const {
  const std::span<const std::uint32_t> own = this->channels(port), first = this->channels(group->first_port);
  if (own.size() != first.size()) return false;
  const Rank rank = channels[own[0]].src;
  std::uint32_t to_first_rank = group->to_first_rank;
  std::size_t at = 0;
  for (const std::uint32_t c : own) {
    if (channels[c].dst == group->first_rank) {
      if (to_first_rank == kNoPort) to_first_rank = c;
      if (!have_same_rest(channels, c, to_first_rank)) return false;
      continue;
    }
    if (at < first.size() && channels[first[at]].dst == rank) ++at;
    if (at == first.size() || channels[first[at]].dst != channels[c].dst) return false;
    if (!have_same_rest(channels, c, first[at++])) return false;
  }
  if (at < first.size() && channels[first[at]].dst == rank) ++at;
  if (at != first.size()) return false;
  group->to_first_rank = to_first_rank;
  return true;
}

}  // namespace hemiola::synthesis
