#include "hemiola/synthesis/flood/translates.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace hemiola::synthesis {
namespace {

/// Beyond, sends are written as they are found, not listed.
constexpr std::int64_t kMostSends = std::int64_t{1} << 26;
constexpr int kMostShapes = 4096;
/// Ways to grow that are tried.
constexpr std::uint32_t kMostWays = 16;

/// Ranks numbered row by row in a grid whose ends meet.
class Shape {
 public:
  explicit Shape(std::vector<int> sides) : sides_(std::move(sides)) {}

  int sum(int a, int b) const { return combined(a, b, 1); }
  int difference(int a, int b) const { return combined(a, b, -1); }

 private:
  int combined(int a, int b, int sign) const {
    int result = 0, stride = 1;
    for (const int side : sides_) {
      const int digit = a % side + sign * (b % side) + side;
      result += digit % side * stride;
      stride *= side;
      a /= side;
      b /= side;
    }
    return result;
  }

  std::vector<int> sides_;  ///< the last one of the grid first
};

/// Offsets of rank 0's neighbours.
std::vector<int> directions_of(const Channels& channels) {
  std::vector<int> directions;
  for (std::uint32_t c = channels.first_out(0); c < channels.first_out(1); ++c)
    directions.push_back(channels[c].dst);
  return directions;
}

bool looks_alike_from_all(const Channels& channels, const Shape& shape, const std::vector<int>& directions) {
  for (int rank = 0; rank < channels.rank_count(); ++rank) {
    if (channels.first_out(rank + 1) - channels.first_out(rank) != directions.size()) return false;
    for (const int direction : directions)
      if (channels.between(Rank{rank}, Rank{shape.sum(rank, direction)}) == channels.count()) return false;
  }
  return true;
}

/// Tries the shapes that a number of ranks allows.
class ShapeSearch {
 public:
  ShapeSearch(const Channels& channels, const std::vector<int>& directions)
      : channels_(channels), directions_(directions) {}

  std::optional<Shape> operator()() { return with_sides(channels_.rank_count()); }

 private:
  /// The sides so far, and one more of `ranks`, or several.
  std::optional<Shape> with_sides(int ranks) {
    if (++tried_ > kMostShapes) return std::nullopt;
    sides_.push_back(ranks);
    Shape shape(sides_);
    sides_.pop_back();
    if (looks_alike_from_all(channels_, shape, directions_)) return shape;
    for (int side = 2; side <= ranks / 2; ++side) {
      if (ranks % side != 0) continue;
      sides_.push_back(side);
      std::optional<Shape> found = with_sides(ranks / side);
      sides_.pop_back();
      if (found) return found;
    }
    return std::nullopt;
  }

  const Channels& channels_;
  const std::vector<int>& directions_;
  std::vector<int> sides_;
  int tried_ = 0;
};

/// Grows one tree per chunk of rank 0, all of them together, tick by tick.
class TreeGrower {
 public:
  static constexpr int kIdle = -1;
  struct Edge {
    int parent = kIdle;  ///< rank that sends
    int tree = 0;
  };
  using Tick = std::vector<Edge>;  ///< by direction

  TreeGrower(const Shape& shape, const std::vector<int>& directions, int rank_count, int tree_count,
             std::uint32_t way)
      : shape_(shape),
        directions_(directions),
        way_(way),
        rank_count_(rank_count),
        left_(static_cast<std::int64_t>(tree_count) * (rank_count - 1)),
        reached_(static_cast<std::size_t>(tree_count) * static_cast<std::size_t>(rank_count)),
        taken_by_(reached_.size(), kIdle),
        waiting_(directions.size()),
        first_(directions.size()),
        tried_(directions.size()) {
    for (int tree = 0; tree < tree_count; ++tree) reach(tree, 0);
  }

  /// Nothing where more ticks are needed than there must be.
  std::optional<std::vector<Tick>> operator()() {
    const auto width = static_cast<std::int64_t>(directions_.size());
    std::int64_t idle_allowed = (width - left_ % width) % width;
    std::vector<Tick> ticks;
    while (left_ > 0) {
      const std::int64_t used = grow(&ticks.emplace_back(directions_.size()));
      idle_allowed -= width - used;
      left_ -= used;
      if (idle_allowed < 0) return std::nullopt;
    }
    return ticks;
  }

 private:
  std::size_t place(int tree, int rank) const {
    return static_cast<std::size_t>(tree) * static_cast<std::size_t>(rank_count_) +
           static_cast<std::size_t>(rank);
  }

  void reach(int tree, int rank) {
    reached_[place(tree, rank)] = true;
    for (std::vector<Edge>& edges : waiting_) edges.push_back({rank, tree});
  }

  /// Where an edge of a direction leads.
  std::size_t end_of(std::size_t direction, const Edge& edge) const {
    return place(edge.tree, shape_.sum(edge.parent, directions_[direction]));
  }

  /// Gives each direction an edge to a rank that no other of this tick reaches. Returns how many have one.
  std::int64_t grow(Tick* tick) {
    std::int64_t used = 0;
    for (std::size_t direction = 0; direction < directions_.size(); ++direction) {
      ++round_;
      used += match(direction, tick) ? 1 : 0;
    }
    for (std::size_t direction = 0; direction < directions_.size(); ++direction) {
      const Edge& edge = (*tick)[direction];
      if (edge.parent == kIdle) continue;
      const std::size_t end = end_of(direction, edge);
      taken_by_[end] = kIdle;
      reach(edge.tree, static_cast<int>(end % static_cast<std::size_t>(rank_count_)));
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
      const Edge edge = edges[newest_first ? edges.size() - 1 - (i - first) : i];
      const std::size_t end = end_of(direction, edge);
      if (reached_[end]) continue;
      int& holder = taken_by_[end];
      if (holder != kIdle && !match(static_cast<std::size_t>(holder), tick)) continue;
      taken_by_[end] = static_cast<int>(direction);
      (*tick)[direction] = edge;
      return true;
    }
    return false;
  }

  const Shape& shape_;
  const std::vector<int>& directions_;
  std::uint32_t
      way_;  ///< a bit for each direction, every fourth the same: whether it leaves the newest ranks first
  int rank_count_;
  std::int64_t left_;
  std::vector<bool> reached_;
  std::vector<int> taken_by_;               ///< in this tick, by which direction
  std::vector<std::vector<Edge>> waiting_;  ///< by direction, in the order in which parents were reached
  std::vector<std::size_t> first_;          ///< by direction: before it, all ends are reached
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
std::vector<std::size_t> directions_of_channels(const Channels& channels, const Shape& shape,
                                                const std::vector<int>& directions) {
  std::vector<std::size_t> of_offset(static_cast<std::size_t>(channels.rank_count()));
  for (std::size_t d = 0; d < directions.size(); ++d) of_offset[static_cast<std::size_t>(directions[d])] = d;
  std::vector<std::size_t> result;
  for (std::uint32_t c = 0; c < channels.count(); ++c)
    result.push_back(of_offset[static_cast<std::size_t>(shape.difference(channels[c].dst, channels[c].src))]);
  return result;
}

}  // namespace

std::optional<Sends> flood_by_translates(const Flood& flood) {
  const Channels& channels = flood.channels;
  const int chunks = chunks_of_each(flood);
  if (chunks == 0 || flood.sends_needed() > kMostSends) return std::nullopt;
  const std::vector<int> directions = directions_of(channels);
  const std::optional<Shape> shape = ShapeSearch(channels, directions)();
  if (!shape) return std::nullopt;
  std::optional<std::vector<TreeGrower::Tick>> ticks;
  for (std::uint32_t way = 0; !ticks && way < kMostWays; ++way)
    ticks = TreeGrower(*shape, directions, channels.rank_count(), chunks, way)();
  if (!ticks) return std::nullopt;

  const std::vector<std::size_t> direction = directions_of_channels(channels, *shape, directions);
  Sends sends;
  sends.reserve(static_cast<std::size_t>(flood.sends_needed()));
  for (std::size_t tick = 0; tick < ticks->size(); ++tick)
    for (std::uint32_t c = 0; c < channels.count(); ++c) {
      const TreeGrower::Edge& edge = (*ticks)[tick][direction[c]];
      if (edge.parent == TreeGrower::kIdle) continue;
      const int root = shape->difference(channels[c].src, edge.parent);
      const Chunk chunk = flood.start[static_cast<std::size_t>(root)][static_cast<std::size_t>(edge.tree)];
      sends.push_back({static_cast<std::int32_t>(tick), c, static_cast<std::uint32_t>(chunk)});
    }
  return sends;
}

}  // namespace hemiola::synthesis
