// SPDX-License-Identifier: Apache-2.0
#include "hemiola/topology/topology.hpp"

#include <algorithm>
#include <bit>

#include "hemiola/base/error.hpp"
#include "hemiola/base/interrupt.hpp"
#include "hemiola/base/random.hpp"
#include "hemiola/topology/nics.hpp"
#include "hemiola/topology/vertex_names.hpp"

namespace hemiola {
namespace {

/// Small operations that looking at a link is worth: it may be far away in memory.
constexpr std::int64_t kPerLink = 4;

}  // namespace

std::string bandwidth_fault(double bandwidth_Bps) {
  if (bandwidth_Bps > 0 && bandwidth_Bps <= Topology::kMaxBandwidth_Bps) return "";
  return "expected a finite bandwidth above 0 B/s, at most " + format_bandwidth(Topology::kMaxBandwidth_Bps) +
         ", found " + format_bandwidth(bandwidth_Bps);
}

namespace {

/// A link's error; empty where there is none.
std::string fault_of(const Link& link, int vertex_count) {
  const auto known = [&](Vertex v) { return v >= 0 && v < vertex_count; };
  if (!known(link.src) || !known(link.dst))
    return "expected vertices 0 … " + std::to_string(vertex_count - 1) + " (ranks first, then switches)";
  if (link.src == link.dst) return "a link must join two different vertices";
  if (std::string fault = bandwidth_fault(link.bandwidth_Bps); !fault.empty()) return fault;
  if (link.latency < 0 || link.latency > Topology::kMaxLatency)
    return "expected a latency of 0 … " + format_seconds(to_seconds(Topology::kMaxLatency)) + ", found " +
           format_seconds(to_seconds(link.latency));
  if (link.message < 0 || link.message > Topology::kMaxLatency)
    return "expected 0 … " + format_seconds(to_seconds(Topology::kMaxLatency)) + " for a message, found " +
           format_seconds(to_seconds(link.message));
  return "";
}

void check_links(const std::vector<Link>& links, int vertex_count) {
  for (std::size_t l = 0; l < links.size(); ++l) {
    heed_interrupt(kPerLink);
    const std::string fault = fault_of(links[l], vertex_count);
    if (!fault.empty())
      throw ArgumentError("link " + std::to_string(l) + " (" + std::to_string(links[l].src) + " -> " +
                          std::to_string(links[l].dst) + "): " + fault);
  }
}

/// Hosts are numbered 0 … count-1 without gaps, in any order; throws ArgumentError otherwise.
int count_nodes(const std::vector<int>& node_of_rank) {
  std::vector<bool> seen(node_of_rank.size(), false);
  for (int node : node_of_rank) {
    if (node < 0 || static_cast<std::size_t>(node) >= seen.size())
      throw ArgumentError("topology: expected node numbers 0 … " + std::to_string(seen.size() - 1) +
                          ", found " + std::to_string(node));
    seen[static_cast<std::size_t>(node)] = true;
  }
  const auto gap = std::find(seen.begin(), seen.end(), false);
  if (std::find(gap, seen.end(), true) != seen.end())
    throw ArgumentError("topology: expected node numbers without gaps, found no rank on node " +
                        std::to_string(gap - seen.begin()));
  return static_cast<int>(gap - seen.begin());
}

/// Groups link indices by one end: offsets per vertex and the indices, in link order.
template <typename End>
void group_by(const std::vector<Link>& links, int vertex_count, End end, std::vector<int>* offset,
              std::vector<int>* index) {
  offset->assign(static_cast<std::size_t>(vertex_count) + 1, 0);
  for (const Link& link : links) {
    heed_interrupt(kPerLink);
    ++(*offset)[static_cast<std::size_t>(end(link)) + 1];
  }
  for (std::size_t v = 1; v < offset->size(); ++v) (*offset)[v] += (*offset)[v - 1];
  std::vector<int> next(offset->begin(), offset->end() - 1);
  index->resize(links.size());
  for (std::size_t l = 0; l < links.size(); ++l) {
    heed_interrupt(kPerLink);
    (*index)[static_cast<std::size_t>(next[static_cast<std::size_t>(end(links[l]))]++)] = static_cast<int>(l);
  }
}

}  // namespace

Topology::Topology(std::string name, int rank_count, int switch_count, std::vector<Link> links,
                   std::vector<int> node_of_rank, std::vector<Nic> nics,
                   std::vector<std::string> vertex_names, Hardware hardware)
    : name_(std::move(name)),
      rank_count_(rank_count),
      switch_count_(switch_count),
      node_count_(rank_count),
      links_(std::move(links)),
      node_of_rank_(std::move(node_of_rank)),
      hardware_(std::move(hardware)) {
  if (rank_count < 1 || switch_count < 0 ||
      static_cast<std::int64_t>(rank_count) + switch_count > kMaxVertices)
    throw ArgumentError("topology: expected 1 … " + std::to_string(kMaxVertices) +
                        " ranks and switches, found " + std::to_string(rank_count) + " ranks and " +
                        std::to_string(switch_count) + " switches");
  if (static_cast<std::int64_t>(links_.size()) > kMaxLinks)
    throw ArgumentError("topology: expected at most " + std::to_string(kMaxLinks) + " links, found " +
                        std::to_string(links_.size()));
  check_links(links_, vertex_count());
  if (hardware_.launch < 0 || hardware_.launch > kMaxLatency)
    throw ArgumentError("topology: expected a launch of 0 … " + format_seconds(to_seconds(kMaxLatency)) +
                        ", found " + format_seconds(to_seconds(hardware_.launch)));
  if (!hardware_.switches.empty() && hardware_.switches.size() != static_cast<std::size_t>(switch_count))
    throw ArgumentError("topology: expected the abilities of none or of all " + std::to_string(switch_count) +
                        " switches, found " + std::to_string(hardware_.switches.size()));
  if (std::ranges::all_of(hardware_.switches, [](SwitchAbility s) { return s == SwitchAbility{}; }))
    hardware_.switches.clear();  // means the same as an empty list, and must compare equal to it
  if (!node_of_rank_.empty()) {
    if (node_of_rank_.size() != static_cast<std::size_t>(rank_count))
      throw ArgumentError("topology: expected one node per rank (" + std::to_string(rank_count) +
                          "), found " + std::to_string(node_of_rank_.size()));
    node_count_ = count_nodes(node_of_rank_);
    if (node_count_ == rank_count && std::is_sorted(node_of_rank_.begin(), node_of_rank_.end()))
      node_of_rank_.clear();  // means the same as an empty list, and must compare equal to it
  }
  nics_ = ordered_nics(std::move(nics), link_count(), node_count_);
  vertex_names_ = checked_names(std::move(vertex_names), vertex_count());
  group_by(links_, vertex_count(), [](const Link& l) { return l.src; }, &out_offset_, &out_links_);
  group_by(links_, vertex_count(), [](const Link& l) { return l.dst; }, &in_offset_, &in_links_);
}

int Topology::node_of(Rank rank) const {
  return node_of_rank_.empty() ? static_cast<int>(rank) : node_of_rank_[static_cast<std::size_t>(rank)];
}

std::uint64_t Topology::fingerprint() const {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  const auto mix = [&hash](std::uint64_t value) { hash = Random(hash ^ value).next(); };
  for (char c : name_) mix(static_cast<unsigned char>(c));
  mix(static_cast<std::uint64_t>(rank_count_) << 32 | static_cast<std::uint64_t>(switch_count_));
  for (const Link& link : links_) {
    mix(static_cast<std::uint64_t>(link.src) << 32 | static_cast<std::uint64_t>(link.dst));
    mix(static_cast<std::uint64_t>(link.latency));
    mix(std::bit_cast<std::uint64_t>(link.bandwidth_Bps));
    if (link.message > 0) mix(static_cast<std::uint64_t>(link.message));
  }
  for (int node : node_of_rank_) mix(static_cast<std::uint64_t>(node));
  if (hardware_.launch > 0) mix(static_cast<std::uint64_t>(hardware_.launch));
  for (SwitchAbility s : hardware_.switches) mix(2 * std::uint64_t{s.reduces} + std::uint64_t{s.multicasts});
  return hash;
}

}  // namespace hemiola
