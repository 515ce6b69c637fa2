// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/flood/translates.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "hemiola/base/interrupt.hpp"

namespace hemiola::synthesis {
namespace {

/// Beyond, sends are written as they are found, not listed.
constexpr std::int64_t kMostSends = std::int64_t{1} << 26;
constexpr int kMostShapes = 4096;
constexpr int kNobody = Translates::kNobody;
/// Ways to grow that are tried where a chunk may leave in the tick after its arrival: the first that will do.
constexpr std::uint32_t kMostWays = 16;
/// Elsewhere the best of these, if it takes no more than one in so many ticks over the fewest, and one.
constexpr std::uint32_t kLateWays[] = {15, 1, 2, 0};
constexpr int kShareOver = 32;

/// Offsets of rank 0's neighbours.
std::vector<int> directions_of(const Channels& channels) {
  std::vector<int> directions;
  for (std::uint32_t c = channels.first_out(0); c < channels.first_out(1); ++c)
    directions.push_back(channels[c].dst);
  return directions;
}

/// Tries the shapes that a number of ranks allows, side by side from the last one on. What the sides so far say of the
/// neighbours is tested before further sides are: of 40,000 ranks there are more shapes than can be tried.
class ShapeSearch {
 public:
  ShapeSearch(const Channels& channels, const std::vector<int>& directions)
      : channels_(channels),
        directions_(directions),
        last_with_(static_cast<std::size_t>(channels.rank_count())) {}

  std::optional<GridShape> operator()() { return with_sides(channels_.rank_count()); }

 private:
  /// The sides so far, and one more of `ranks`, or several.
  std::optional<GridShape> with_sides(int ranks) {
    for (int side = ranks; side > 1 && tried_ < kMostShapes; side = next_divisor(ranks, side)) {
      ++tried_;
      sides_.push_back(side);
      GridShape shape(sides_);
      std::optional<GridShape> found;
      if (looks_alike_from_all(shape)) found = side == ranks ? std::move(shape) : with_sides(ranks / side);
      sides_.pop_back();
      if (found) return found;
    }
    return std::nullopt;
  }

  /// All of them first, then from the smallest on up to half; 1 after the last.
  static int next_divisor(int ranks, int side) {
    for (int next = side == ranks ? 2 : side + 1; next <= ranks / 2; ++next)
      if (ranks % next == 0) return next;
    return 1;
  }

  /// Whether each rank has a neighbour at each of rank 0's offsets, as far as the digits of these last sides tell.
  bool looks_alike_from_all(const GridShape& shape) {
    std::fill(last_with_.begin(), last_with_.end(), -1);
    for (int rank = 0; rank < channels_.rank_count(); ++rank) {
      heed_interrupt(4 * static_cast<std::int64_t>(directions_.size()));
      const std::uint32_t end = channels_.first_out(rank + 1);
      if (end - channels_.first_out(rank) != directions_.size()) return false;
      for (std::uint32_t c = channels_.first_out(rank); c < end; ++c)
        last_with_[static_cast<std::size_t>(channels_[c].dst % shape.size())] = rank;
      for (const int direction : directions_)
        if (last_with_[static_cast<std::size_t>(shape.sum(rank, direction))] != rank) return false;
    }
    return true;
  }

  const Channels& channels_;
  const std::vector<int>& directions_;
  std::vector<int> sides_;
  std::vector<int> last_with_;  ///< by digits, the last rank with a neighbour that has them
  int tried_ = 0;
};

/// How many ranks are within 1, 2, … hops of rank 0, itself among them.
std::vector<std::int64_t> ranks_within(const GridShape& shape, const std::vector<int>& directions) {
  std::vector<bool> is_reached(static_cast<std::size_t>(shape.size()), false);
  std::vector<int> ranks{0};
  is_reached[0] = true;
  std::vector<std::int64_t> within;
  for (std::size_t first = 0; first < ranks.size();) {
    const std::size_t end = ranks.size();
    for (; first < end; ++first)
      for (const int direction : directions) {
        const int rank = shape.sum(ranks[first], direction);
        if (is_reached[static_cast<std::size_t>(rank)]) continue;
        is_reached[static_cast<std::size_t>(rank)] = true;
        ranks.push_back(rank);
      }
    within.push_back(static_cast<std::int64_t>(ranks.size()));
  }
  return within;
}

/// In fewer ticks no flood is done: each direction takes an edge a tick, and a hop takes 1 + lag.
int fewest_ticks(const GridShape& shape, const std::vector<int>& directions, int tree_count, int lag) {
  const std::vector<std::int64_t> within = ranks_within(shape, directions);
  const std::int64_t all = static_cast<std::int64_t>(tree_count) * shape.size();
  std::int64_t reached = tree_count;
  int ticks = 0;
  for (; reached < all; ++ticks) {
    const auto hop = std::min(static_cast<std::size_t>(ticks / (1 + lag)), within.size() - 1);
    reached = std::min(reached + static_cast<std::int64_t>(directions.size()), tree_count * within[hop]);
  }
  return ticks;
}

/// Grows one tree per chunk of rank 0, all of them together, tick by tick.
class TreeGrower {
 public:
  using Edge = Translates::Edge;
  using Tick = Translates::Tick;

  TreeGrower(const GridShape& shape, const std::vector<int>& directions, int tree_count, int lag,
             std::uint32_t way)
      : shape_(shape),
        directions_(directions),
        way_(way),
        rank_count_(shape.size()),
        left_(static_cast<std::int64_t>(tree_count) * (rank_count_ - 1)),
        reached_(static_cast<std::size_t>(tree_count) * static_cast<std::size_t>(rank_count_)),
        taken_by_(reached_.size(), kNobody),
        arriving_(static_cast<std::size_t>(lag) + 1),
        waiting_(directions.size()),
        first_(directions.size()),
        tried_(directions.size()) {
    for (int tree = 0; tree < tree_count; ++tree) {
      reached_[place(tree, 0)] = true;
      let_send({0, tree});
    }
  }

  /// Nothing where more than so many ticks are needed.
  std::optional<std::vector<Tick>> operator()(int most_ticks) {
    const auto width = static_cast<std::int64_t>(directions_.size());
    std::vector<Tick> ticks;
    while (left_ > 0) {
      if (left_ > width * (most_ticks - static_cast<std::int64_t>(ticks.size()))) return std::nullopt;
      std::vector<Edge>& arriving = arriving_[ticks.size() % arriving_.size()];
      for (const Edge& edge : arriving) let_send(edge);
      arriving.clear();
      left_ -= grow(&ticks.emplace_back(directions_.size()), &arriving);
    }
    return ticks;
  }

 private:
  std::size_t place(int tree, int rank) const {
    return static_cast<std::size_t>(tree) * static_cast<std::size_t>(rank_count_) +
           static_cast<std::size_t>(rank);
  }

  /// In each direction, from the edge's parent.
  void let_send(const Edge& edge) {
    for (std::vector<Edge>& edges : waiting_) edges.push_back(edge);
  }

  /// Where an edge of a direction leads.
  std::size_t end_of(std::size_t direction, const Edge& edge) const {
    return place(edge.tree, shape_.sum(edge.parent, directions_[direction]));
  }

  /// Gives each direction an edge to a rank that no other of this tick reaches, and lists those that next leave these.
  /// Returns how many have one.
  std::int64_t grow(Tick* tick, std::vector<Edge>* reached) {
    std::int64_t used = 0;
    for (std::size_t direction = 0; direction < directions_.size(); ++direction) {
      ++round_;
      used += match(direction, tick) ? 1 : 0;
    }
    for (std::size_t direction = 0; direction < directions_.size(); ++direction) {
      const Edge& edge = (*tick)[direction];
      if (edge.parent == kNobody) continue;
      const std::size_t end = end_of(direction, edge);
      taken_by_[end] = kNobody;
      reached_[end] = true;
      reached->push_back({static_cast<int>(end % static_cast<std::size_t>(rank_count_)), edge.tree});
    }
    return used;
  }

  /// An augmenting path from a direction without an edge.
  bool match(std::size_t direction, Tick* tick) {
    if (tried_[direction] == round_) return false;
    tried_[direction] = round_;
    std::vector<Edge>& edges = waiting_[direction];
    std::size_t& first = first_[direction];
    while (first < edges.size() && reached_[end_of(direction, edges[first])]) ++first;
    while (edges.size() > first && reached_[end_of(direction, edges.back())]) edges.pop_back();
    const bool newest_first = (way_ >> (direction % 4) & 1) != 0;
    for (std::size_t i = first; i < edges.size(); ++i) {
      heed_interrupt(1);
      const Edge edge = edges[newest_first ? edges.size() - 1 - (i - first) : i];
      const std::size_t end = end_of(direction, edge);
      if (reached_[end]) continue;
      int& holder = taken_by_[end];
      if (holder != kNobody && !match(static_cast<std::size_t>(holder), tick)) continue;
      taken_by_[end] = static_cast<int>(direction);
      (*tick)[direction] = edge;
      return true;
    }
    return false;
  }

  const GridShape& shape_;
  const std::vector<int>& directions_;
  std::uint32_t
      way_;  ///< a bit for each direction, every fourth the same: whether it leaves the newest ranks first
  int rank_count_;
  std::int64_t left_;
  std::vector<bool> reached_;
  std::vector<int> taken_by_;                ///< in this tick, by which direction
  std::vector<std::vector<Edge>> arriving_;  ///< by tick, round: where trees grow on from 1 + lag ticks later
  std::vector<std::vector<Edge>> waiting_;   ///< by direction, in the order in which parents were reached
  std::vector<std::size_t> first_;           ///< by direction: before it, all ends are reached
  std::vector<int> tried_;
  int round_ = 0;
};

/// How many chunks every rank begins with; 0 where that is not the same.
int chunks_of_each(const Flood& flood) {
  const std::size_t chunks = flood.start[0].size();
  for (const auto& own : flood.start)
    if (own.size() != chunks) return 0;
  return chunks * flood.start.size() == static_cast<std::size_t>(flood.chunk_count) ? static_cast<int>(chunks)
                                                                                    : 0;
}

/// Of each channel, the number of its direction.
std::vector<std::uint32_t> directions_of_channels(const Channels& channels, const GridShape& shape,
                                                  const std::vector<int>& directions) {
  std::vector<std::uint32_t> of_offset(static_cast<std::size_t>(channels.rank_count()));
  for (std::uint32_t d = 0; d < directions.size(); ++d)
    of_offset[static_cast<std::size_t>(directions[d])] = d;
  std::vector<std::uint32_t> result;
  for (std::uint32_t c = 0; c < channels.count(); ++c)
    result.push_back(of_offset[static_cast<std::size_t>(shape.difference(channels[c].dst, channels[c].src))]);
  return result;
}

std::optional<std::vector<Translates::Tick>> grown(const GridShape& shape, const std::vector<int>& directions,
                                                   int tree_count, int lag) {
  const int fewest = fewest_ticks(shape, directions, tree_count, lag);
  std::optional<std::vector<Translates::Tick>> best;
  if (lag == 0) {
    for (std::uint32_t way = 0; !best && way < kMostWays; ++way)
      best = TreeGrower(shape, directions, tree_count, lag, way)(fewest);
    return best;
  }
  int most = fewest + fewest / kShareOver + 1;
  for (const std::uint32_t way : kLateWays) {
    if (most < fewest) break;
    if (auto tree = TreeGrower(shape, directions, tree_count, lag, way)(most)) best = std::move(tree);
    if (best) most = static_cast<int>(best->size()) - 1;
  }
  return best;
}

}  // namespace

std::optional<Translates> Translates::of(const Flood& flood, int lag) {
  const Channels& channels = flood.channels;
  const int chunks = chunks_of_each(flood);
  if (chunks == 0) return std::nullopt;
  const std::vector<int> directions = directions_of(channels);
  std::optional<GridShape> shape = ShapeSearch(channels, directions)();
  if (!shape) return std::nullopt;
  std::optional<std::vector<Tick>> tree = grown(*shape, directions, chunks, lag);
  if (!tree) return std::nullopt;
  return Translates(flood, std::move(*shape), directions, std::move(*tree));
}

Translates::Translates(const Flood& flood, GridShape shape, const std::vector<int>& directions,
                       std::vector<Tick> tree)
    : flood_(&flood),
      shape_(std::move(shape)),
      tree_(std::move(tree)),
      direction_(directions_of_channels(flood.channels, shape_, directions)),
      roots_(directions.size()) {}

void Translates::find_picks(int tick, std::vector<std::uint32_t>* picks) {
  const Tick& edges = tree_[static_cast<std::size_t>(tick)];
  for (std::size_t direction = 0; direction < edges.size(); ++direction)
    if (edges[direction].parent != kNobody)
      shape_.differences_from_all(edges[direction].parent, &roots_[direction]);
  const Channels& channels = flood_->channels;
  picks->resize(channels.count());
  for (std::uint32_t c = 0; c < channels.count(); ++c) {
    const Edge& edge = edges[direction_[c]];
    if (edge.parent == kNobody) {
      (*picks)[c] = kIdle;
      continue;
    }
    const auto root =
        static_cast<std::size_t>(roots_[direction_[c]][static_cast<std::size_t>(channels[c].src)]);
    (*picks)[c] = static_cast<std::uint32_t>(flood_->start[root][static_cast<std::size_t>(edge.tree)]);
  }
}

std::optional<Sends> flood_by_translates(const Flood& flood, int lag) {
  if (flood.sends_needed() > kMostSends) return std::nullopt;
  std::optional<Translates> translates = Translates::of(flood, lag);
  if (!translates) return std::nullopt;
  Sends sends;
  sends.reserve(static_cast<std::size_t>(flood.sends_needed()));
  std::vector<std::uint32_t> picks;
  for (int tick = 0; tick < translates->tick_count(); ++tick) {
    translates->find_picks(tick, &picks);
    heed_interrupt(2 * static_cast<std::int64_t>(picks.size()));
    for (std::uint32_t c = 0; c < picks.size(); ++c)
      if (picks[c] != Translates::kIdle) sends.push_back({tick, c, picks[c]});
  }
  return sends;
}

}  // namespace hemiola::synthesis
