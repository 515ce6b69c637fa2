// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/delivery/tree_router.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "hemiola/base/interrupt.hpp"

namespace hemiola::synthesis {
namespace {

constexpr std::uint32_t kNoChannel = ~0u;
constexpr int kRounds = 8;
/// Rounds after those in which links are to carry this part of what the busiest one carries. It is what sends chunks
/// round about over links that no shortest way uses, which the mean over the links in use does not.
constexpr int kSpreadingRounds = 6;
constexpr double kPart = 0.5;
/// A spread counts as better where it saves more than this.
constexpr double kWorthwhile = 0.99;
/// Searches per rank and round; more cost time and balance links better.
constexpr std::size_t kSearchesPerRank = 4;
/// How much longer a link counts that is as busy as all would be if equally busy.
constexpr double kCongestion = 1.0;

/// How fast that grows beyond: with the fourth power.
double steep(double share) {
  const double square = share * share;
  return square * square;
}

template <typename T>
void shuffle(std::vector<T>* items, Random* random) {
  for (std::size_t i = items->size(); i > 1; --i)
    std::swap((*items)[i - 1], (*items)[random->below(static_cast<std::uint32_t>(i))]);
}

}  // namespace

TreeRouter::TreeRouter(const Delivery& delivery, std::uint64_t seed)
    : delivery_(delivery),
      channels_(delivery.channels),
      ports_(channels_),
      random_(seed),
      trees_(delivery.holders.size()),
      load_(channels_.link_count(), 0),
      distance_(static_cast<std::size_t>(channels_.rank_count())),
      came_through_(distance_.size()),
      in_tree_(distance_.size(), 0),
      wanted_in_(distance_.size(), 0) {}

ChunkWays TreeRouter::route(Rounds rounds) {
  std::vector<Batch> all = batches();
  if (all.empty()) return std::move(trees_);
  const Forecast forecast;
  // The work of the rounds behind is counted in rounds, or the first one is as long as all.
  const double all_rounds = rounds == Rounds::first_is_longest ? 1 : kRounds + kSpreadingRounds;
  for (int round = 0; round < kRounds; ++round) {
    shuffle(&all, &random_);
    choose_all_again(all, forecast, round / all_rounds, 1 / all_rounds);
    const auto used = std::count_if(load_.begin(), load_.end(), [](double l) { return l > 0; });
    fair_load_ = std::accumulate(load_.begin(), load_.end(), 0.0) /
                 static_cast<double>(std::max<std::ptrdiff_t>(used, 1));
  }
  ChunkWays best = trees_;
  double least = end_estimate();
  for (int round = 0; round < kSpreadingRounds; ++round) {
    fair_load_ = kPart * *std::max_element(load_.begin(), load_.end());
    shuffle(&all, &random_);
    choose_all_again(all, forecast, (kRounds + round) / all_rounds, 1 / all_rounds);
    if (const double end = end_estimate(); end < kWorthwhile * least) {
      least = end;
      best = trees_;
    }
  }
  return best;
}

double TreeRouter::end_estimate() {
  double longest = 0;
  for (const auto& tree : trees_) {
    for (const std::uint32_t c : tree) distance_[static_cast<std::size_t>(channels_[c].src)] = 0;
    for (const std::uint32_t c : tree) {  // every way stands from its beginning to its end
      double there = distance_[static_cast<std::size_t>(channels_[c].src)];
      for (const Hop& hop : channels_.hops(c)) there += static_cast<double>(hop.delay);
      distance_[static_cast<std::size_t>(channels_[c].dst)] = there;
      longest = std::max(longest, there);
    }
  }
  return longest + *std::max_element(load_.begin(), load_.end());
}

std::vector<TreeRouter::Batch> TreeRouter::batches() {
  std::map<std::vector<Rank>, Batch> by_holders;
  std::size_t chunks = 0;
  for (std::uint32_t chunk = 0; chunk < trees_.size(); ++chunk)
    if (!delivery_.wanted[chunk].empty()) {
      by_holders[delivery_.holders[chunk]].push_back(chunk);
      ++chunks;
    }
  const std::size_t size = std::max<std::size_t>(1, chunks / (kSearchesPerRank * distance_.size()));
  std::vector<Batch> cut;
  for (auto& [holders, chunks_held] : by_holders) {
    shuffle(&chunks_held, &random_);
    for (std::size_t begin = 0; begin < chunks_held.size(); begin += size)
      cut.emplace_back(
          chunks_held.begin() + static_cast<std::ptrdiff_t>(begin),
          chunks_held.begin() + static_cast<std::ptrdiff_t>(std::min(begin + size, chunks_held.size())));
  }
  return cut;
}

/// `behind`: the share of the work before this round, of which `part` is one.
void TreeRouter::choose_all_again(const std::vector<Batch>& all, const Forecast& forecast, double behind,
                                  double part) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    choose_again(all[i]);
    forecast.at(behind + part * static_cast<double>(i + 1) / static_cast<double>(all.size()));
  }
}

void TreeRouter::choose_again(const Batch& batch) {
  for (const std::uint32_t chunk : batch) load(trees_[chunk], -1);
  search(batch);
  for (const std::uint32_t chunk : batch) {
    trees_[chunk] = tree_to(delivery_.wanted[chunk]);
    load(trees_[chunk], +1);
  }
}

void TreeRouter::load(const std::vector<std::uint32_t>& tree, int sign) {
  heed_interrupt(2 * static_cast<std::int64_t>(tree.size()));
  for (const std::uint32_t c : tree)
    for (const Hop& hop : channels_.hops(c)) load_[hop.link] += sign * static_cast<double>(hop.busy);
}

double TreeRouter::length(const Hop& hop) const {
  const double share = fair_load_ > 0 ? (load_[hop.link] + static_cast<double>(hop.busy)) / fair_load_ : 0;
  return static_cast<double>(hop.delay) * (1 + kCongestion * steep(share));
}

/// From the holders, until there is a cheapest way to everybody who wants one of the chunks.
void TreeRouter::search(const Batch& batch) {
  std::size_t left = mark_wanted(batch);
  begin_search();
  for (const Rank rank : delivery_.holders[batch[0]]) {
    distance_[static_cast<std::size_t>(rank)] = 0;
    came_through_[static_cast<std::size_t>(rank)] = kNoChannel;
    frontier_.emplace_back(0, static_cast<int>(rank));
  }
  while (!frontier_.empty()) {
    std::pop_heap(frontier_.begin(), frontier_.end(), std::greater<>{});
    const auto [distance, rank] = frontier_.back();
    frontier_.pop_back();
    if (distance > distance_[static_cast<std::size_t>(rank)]) continue;
    if (wanted_in_[static_cast<std::size_t>(rank)] == search_number_) {
      wanted_in_[static_cast<std::size_t>(rank)] = 0;
      if (--left == 0) return;
    }
    for (std::uint32_t port = ports_.first_of(rank); port < ports_.first_of(rank + 1); ++port)
      go_through(port, distance);
  }
}

/// Returns how many ranks want one of the chunks.
std::size_t TreeRouter::mark_wanted(const Batch& batch) {
  ++search_number_;
  std::size_t count = 0;
  for (const std::uint32_t chunk : batch)
    for (const Rank rank : delivery_.wanted[chunk])
      if (std::exchange(wanted_in_[static_cast<std::size_t>(rank)], search_number_) != search_number_)
        ++count;
  return count;
}

void TreeRouter::begin_search() {
  constexpr double far = std::numeric_limits<double>::infinity();
  std::fill(distance_.begin(), distance_.end(), far);
  arrival_.assign(ports_.group_count(), far);
  frontier_.clear();
}

/// Ways on from a port, unless another port of its group was as near: from there they are no longer.
void TreeRouter::go_through(std::uint32_t port, double distance) {
  const std::span<const std::uint32_t> channels = ports_.channels(port);
  const double behind = distance + length(channels_.hops(channels[0])[0]);
  double& nearest = arrival_[ports_.group(port)];
  if (behind >= nearest) return;
  nearest = behind;
  heed_interrupt(4 * static_cast<std::int64_t>(channels.size()));
  for (const std::uint32_t c : channels) {
    const auto next = static_cast<std::size_t>(channels_[c].dst);
    double there = behind;
    for (const Hop& hop : channels_.hops(c).subspan(1)) there += length(hop);
    if (there >= distance_[next]) continue;
    distance_[next] = there;
    came_through_[next] = c;
    frontier_.emplace_back(there, channels_[c].dst);
    std::push_heap(frontier_.begin(), frontier_.end(), std::greater<>{});
  }
}

std::vector<std::uint32_t> TreeRouter::tree_to(const std::vector<Rank>& wanted) {
  ++tree_number_;
  std::vector<std::uint32_t> tree, way;
  for (const Rank rank : wanted) {
    way.clear();
    for (Rank at = rank; in_tree_[static_cast<std::size_t>(at)] != tree_number_;) {
      in_tree_[static_cast<std::size_t>(at)] = tree_number_;
      const std::uint32_t c = came_through_[static_cast<std::size_t>(at)];
      if (c == kNoChannel) break;
      way.push_back(c);
      at = channels_[c].src;
    }
    tree.insert(tree.end(), way.rbegin(), way.rend());
  }
  return tree;
}

}  // namespace hemiola::synthesis
