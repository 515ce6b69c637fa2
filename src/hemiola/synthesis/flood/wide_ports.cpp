// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/flood/wide_ports.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace hemiola::synthesis {
namespace {

/// Channels of a port, and their share of the ranks, from which on sets of ranks cost less than channels one by one.
constexpr std::size_t kLeastChannels = 16, kLeastShare = 16;

/// Keeps of `links` those on the way.
void keep_those_of(std::span<const Hop> way, std::vector<std::uint32_t>* links) {
  std::erase_if(*links, [&](std::uint32_t link) {
    return std::ranges::none_of(way, [&](const Hop& hop) { return hop.link == link; });
  });
}

std::vector<std::uint32_t> links_of(std::span<const Hop> way) {
  std::vector<std::uint32_t> links;
  for (const Hop& hop : way) links.push_back(hop.link);
  return links;
}

bool includes(const std::vector<std::uint32_t>& links, std::uint32_t link) {
  return std::ranges::find(links, link) != links.end();
}

}  // namespace

WidePorts::WidePorts(const Channels& channels, const SpeedClasses& classes)
    : channels_(channels),
      rank_count_(static_cast<std::size_t>(channels.rank_count())),
      columns_(static_cast<std::size_t>(classes.count() + 1) * rank_count_),
      port_of_(channels.count(), kNone),
      ports_of_(rank_count_),
      ports_over_(channels.link_count()),
      columns_over_(channels.link_count()),
      leads_to_(0, 0),
      marked_(0, 0),
      marked_into_(static_cast<std::size_t>(classes.count()) + 1, channels.rank_count()),
      closed_into_(static_cast<std::size_t>(classes.count()) + 1, channels.rank_count()),
      has_marked_into_(static_cast<std::size_t>(classes.count()) + 1, 0) {
  find_ports(classes);
  find_shared_links();
  open_.assign((ports_.size() + 63) / 64, 0);
  for (std::uint32_t port = 0; port < ports_.size(); ++port) insert(open_.data(), port);
}

void WidePorts::find_ports(const SpeedClasses& classes) {
  for (Rank rank : indices<Rank>(channels_.rank_count())) {
    std::map<std::pair<std::uint32_t, int>, std::vector<std::uint32_t>> by_port;
    for (std::uint32_t c = channels_.first_out(rank); c < channels_.first_out(rank + 1); ++c)
      by_port[{channels_.hops(c)[0].link, classes.class_of(c)}].push_back(c);
    for (const auto& [port, of_port] : by_port) {
      if (of_port.size() < kLeastChannels || of_port.size() * kLeastShare < rank_count_) continue;
      for (const std::uint32_t c : of_port) port_of_[c] = static_cast<std::uint32_t>(ports_.size());
      ports_of_[static_cast<std::size_t>(rank)].push_back(static_cast<std::uint32_t>(ports_.size()));
      ports_.push_back({rank, port.first, port.second, links_of(channels_.hops(of_port[0]))});
    }
  }
  leads_to_ = ChunkSets(ports_.size(), channels_.rank_count());
  marked_ = ChunkSets(ports_.size(), channels_.rank_count());
  channel_to_.assign(ports_.size() * rank_count_, kNone);
}

void WidePorts::find_shared_links() {
  std::vector<bool> is_known(columns_.size(), false);
  for (std::uint32_t c = 0; c < channels_.count(); ++c) {
    if (!has(c)) continue;
    Port& port = ports_[port_of_[c]];
    const auto dst = static_cast<std::uint32_t>(channels_[c].dst);
    insert(leads_to_[static_cast<int>(port_of_[c])], dst);
    channel_to_[port_of_[c] * rank_count_ + dst] = c;
    keep_those_of(channels_.hops(c), &port.shared);
    const std::size_t column = column_of(port.speed, channels_[c].dst);
    if (is_known[column])
      keep_those_of(channels_.hops(c), &columns_[column].shared);
    else
      columns_[column].shared = links_of(channels_.hops(c));
    is_known[column] = true;
  }
  for (std::uint32_t port = 0; port < ports_.size(); ++port)
    for (const std::uint32_t link : ports_[port].shared) ports_over_[link].push_back(port);
  for (std::uint32_t column = 0; column < columns_.size(); ++column)
    for (const std::uint32_t link : columns_[column].shared) columns_over_[link].push_back(column);
}

bool WidePorts::is_marked_over(std::uint32_t channel, std::uint32_t link) const {
  if (!has(channel)) return false;
  const Port& port = ports_[port_of_[channel]];
  return includes(port.shared, link) ||
         includes(columns_[column_of(port.speed, channels_[channel].dst)].shared, link);
}

void WidePorts::touch(std::uint32_t port) {
  if (!std::exchange(ports_[port].is_touched, true)) touched_.push_back(port);
}

void WidePorts::mark(std::uint32_t channel) {
  const std::uint32_t port = port_of_[channel];
  touch(port);
  insert(marked_[static_cast<int>(port)], static_cast<std::uint32_t>(channels_[channel].dst));
}

void WidePorts::mark_over(std::uint32_t link) {
  for (const std::uint32_t port : ports_over_[link]) {
    touch(port);
    const std::uint64_t* all = leads_to_[static_cast<int>(port)];
    std::copy(all, all + leads_to_.words(), marked_[static_cast<int>(port)]);
  }
  for (const std::uint32_t column : columns_over_[link]) {
    const auto speed = static_cast<int>(column / rank_count_);
    insert(marked_into_[speed], static_cast<std::uint32_t>(column % rank_count_));
    has_marked_into_[static_cast<std::size_t>(speed)] = 1;
  }
}

void WidePorts::mark_out_of(Rank rank, const std::uint64_t* without) {
  for (const std::uint32_t port : ports_of_[static_cast<std::size_t>(rank)]) {
    touch(port);
    const std::uint64_t* all = leads_to_[static_cast<int>(port)];
    std::uint64_t* marked = marked_[static_cast<int>(port)];
    for (std::size_t w = 0; w < leads_to_.words(); ++w) marked[w] |= all[w] & ~without[w];
  }
}

void WidePorts::forget_marks() {
  for (const std::uint32_t port : touched_) {
    ports_[port].is_touched = false;
    std::uint64_t* marked = marked_[static_cast<int>(port)];
    std::fill(marked, marked + marked_.words(), 0);
  }
  touched_.clear();
  for (std::size_t speed = 0; speed < has_marked_into_.size(); ++speed) {
    if (!std::exchange(has_marked_into_[speed], 0)) continue;
    std::uint64_t* marked = marked_into_[static_cast<int>(speed)];
    std::fill(marked, marked + marked_into_.words(), 0);
  }
}

void WidePorts::close(std::uint32_t link) {
  for (const std::uint32_t port : ports_over_[link])
    if (ports_[port].closing++ == 0) remove(open_.data(), port);
  for (const std::uint32_t column : columns_over_[link])
    if (columns_[column].closing++ == 0)
      insert(closed_into_[static_cast<int>(column / rank_count_)],
             static_cast<std::uint32_t>(column % rank_count_));
}

void WidePorts::open(std::uint32_t link) {
  for (const std::uint32_t port : ports_over_[link])
    if (--ports_[port].closing == 0) insert(open_.data(), port);
  for (const std::uint32_t column : columns_over_[link])
    if (--columns_[column].closing == 0)
      remove(closed_into_[static_cast<int>(column / rank_count_)],
             static_cast<std::uint32_t>(column % rank_count_));
}

std::uint32_t WidePorts::next_marked(std::uint32_t port, int first, int* passed) const {
  const Port& seen = ports_[port];
  const int n = channels_.rank_count();
  const std::uint64_t *own = marked_[static_cast<int>(port)], *all = leads_to_[static_cast<int>(port)];
  const std::uint64_t *into = marked_into_[seen.speed], *closed = closed_into_[seen.speed];
  while (*passed < n) {
    const int at = (first + *passed) % n;
    const auto w = static_cast<std::size_t>(at) / 64;
    // The rest of the word, but not beyond `first` where that is in it a second time.
    std::uint64_t bits = (own[w] | (into[w] & all[w])) & ~closed[w] & (~std::uint64_t{0} << (at % 64));
    const int word_end = std::min(n, static_cast<int>(w + 1) * 64);
    if (bits != 0) {
      const int found = static_cast<int>(w * 64) + std::countr_zero(bits);
      *passed += found - at;
      return *passed < n ? channel_to_[port * rank_count_ + static_cast<std::size_t>(found)] : kNone;
    }
    *passed += word_end - at;
  }
  return kNone;
}

}  // namespace hemiola::synthesis
