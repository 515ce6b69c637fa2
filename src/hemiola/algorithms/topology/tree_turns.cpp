// Time is counted in ticks, 64 of which the longest chunk occupies a link: what is ready, and which links are free, is
// looked up in a wheel of ticks. Steps are not these times: a transfer's step follows the last one over its link and
// those that it waits for, so that schedules have few steps and ports their order.
#include "hemiola/algorithms/topology/tree_turns.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/base/heedful.hpp"

namespace hemiola::algorithms {
namespace {

using Ticks = std::int64_t;

constexpr double kTicksOfLongest = 64;
/// Latencies of more chunks than that are as good as infinite, and would make the wheel large.
constexpr Ticks kMostLatency = 1 << 14;
/// How much the way that is left counts beside the order of the chunks, over what a link needs for it: 3/2. Measured on
/// meshes of 2 to 3 dimensions, latencies of 0 to 10 chunks: 1 and 4 take up to 5 % longer, 2 about as long.
constexpr Ticks kWayCounts = 3, kOrderCounts = 2;

/// What a chunk of one tree takes a link, and how much later it is there.
struct TicksOfLink {
  Ticks busy;
  Ticks latency;
};

class Clock {
 public:
  Clock(const std::vector<TreeLinkCost>& costs, const std::vector<UpDownTree>& trees) : costs_(costs) {
    double longest = 0, latency = 0;
    for (const TreeLinkCost& cost : costs) {
      for (const UpDownTree& tree : trees) longest = std::max(longest, cost.ps_per_byte * tree.chunk_bytes);
      latency = std::max(latency, static_cast<double>(cost.latency));
    }
    tick_ = std::max(longest / kTicksOfLongest, latency / static_cast<double>(kMostLatency));
  }

  TicksOfLink of(int kind, const UpDownTree& tree) const {
    const TreeLinkCost& cost = costs_[static_cast<std::size_t>(kind)];
    return {std::max(Ticks{1}, ticks(cost.ps_per_byte * tree.chunk_bytes)),
            ticks(static_cast<double>(cost.latency))};
  }

 private:
  Ticks ticks(double time) const { return tick_ > 0 ? std::llround(time / tick_) : 0; }

  const std::vector<TreeLinkCost>& costs_;
  double tick_;
};

std::int32_t opposite(std::int32_t link) {
  return link ^ 1;
}

/// A tree as turns need it: who waits for whom, and how long the way from a link to the end of everything is.
class TimedTree {
 public:
  TimedTree(const UpDownTree& tree, const std::vector<TreeLink>& links, const Clock& clock)
      : tree_(tree),
        links_(links),
        first_child_(tree.up_link.size() + 1, 0),
        way_up_(tree.up_link.size(), 0),
        way_down_(tree.up_link.size(), 0) {
    for (std::size_t v = 0; v < tree.up_link.size(); ++v)
      if (tree.up_link[v] != UpDownTree::kNone) ++first_child_[static_cast<std::size_t>(parent(v)) + 1];
    for (std::size_t v = 0; v + 1 < first_child_.size(); ++v) first_child_[v + 1] += first_child_[v];
    children_.resize(tree.up_link.size() - 1);
    std::vector<std::int32_t> next(first_child_.begin(), first_child_.end() - 1);
    for (std::size_t v = 0; v < tree.up_link.size(); ++v)
      if (tree.up_link[v] != UpDownTree::kNone)
        children_[static_cast<std::size_t>(next[static_cast<std::size_t>(parent(v))]++)] =
            static_cast<std::int32_t>(v);
    measure(clock);
  }

  std::int32_t up_link(std::int32_t rank) const { return tree_.up_link[static_cast<std::size_t>(rank)]; }
  std::int32_t child_count(std::int32_t rank) const {
    const auto v = static_cast<std::size_t>(rank);
    return first_child_[v + 1] - first_child_[v];
  }
  template <typename Visit>
  void for_each_child(std::int32_t rank, Visit visit) const {
    const auto v = static_cast<std::size_t>(rank);
    for (std::int32_t i = first_child_[v]; i < first_child_[v + 1]; ++i)
      visit(children_[static_cast<std::size_t>(i)]);
  }
  /// From before the link between a rank and its parent, up or down it, to the last leaf.
  Ticks way_up(std::int32_t rank) const { return way_up_[static_cast<std::size_t>(rank)]; }
  Ticks way_down(std::int32_t rank) const { return way_down_[static_cast<std::size_t>(rank)]; }

 private:
  std::int32_t parent(std::size_t v) const { return links_[static_cast<std::size_t>(tree_.up_link[v])].dst; }

  void measure(const Clock& clock) {
    std::vector<std::int32_t> from_root{tree_.root};
    for (std::size_t i = 0; i < from_root.size(); ++i)
      for_each_child(from_root[i], [&](std::int32_t child) { from_root.push_back(child); });
    HEMIOLA_CHECK(from_root.size() == tree_.up_link.size(), "a tree that spans all ranks");
    const auto taking = [&](std::int32_t link) {
      const TicksOfLink time = clock.of(links_[static_cast<std::size_t>(link)].kind, tree_);
      return time.busy + time.latency;
    };
    Ticks all_down = 0;
    for (auto v = from_root.rbegin(); v != from_root.rend(); ++v) {
      Ticks below = 0;
      for_each_child(*v, [&](std::int32_t child) { below = std::max(below, way_down(child)); });
      if (*v == tree_.root)
        all_down = below;
      else
        way_down_[static_cast<std::size_t>(*v)] = below + taking(opposite(up_link(*v)));
    }
    for (std::int32_t v : from_root) {
      if (v == tree_.root) continue;
      const std::int32_t above = parent(static_cast<std::size_t>(v));
      way_up_[static_cast<std::size_t>(v)] =
          (above == tree_.root ? all_down : way_up(above)) + taking(up_link(v));
    }
  }

  const UpDownTree& tree_;
  const std::vector<TreeLink>& links_;
  std::vector<std::int32_t> first_child_, children_;
  std::vector<Ticks> way_up_, way_down_;
};

/// Serves the links.
class Turns {
 public:
  Turns(const TreeLinks& network, const std::vector<UpDownTree>& trees, std::size_t rank_count)
      : links_(network.links),
        kind_count_(network.costs.size()),
        trees_(trees),
        rank_count_(rank_count),
        clock_(network.costs, trees) {
    for (const UpDownTree& tree : trees) {
      timed_.emplace_back(tree, links_, clock_);
      for (std::size_t kind = 0; kind < kind_count_; ++kind) {
        time_.push_back(clock_.of(static_cast<int>(kind), tree));
        wheel_size_ = std::max(wheel_size_, time_.back().busy + time_.back().latency + 1);
      }
    }
    number_chunks();
    arriving_.resize(static_cast<std::size_t>(wheel_size_));
    freed_.resize(static_cast<std::size_t>(wheel_size_));
    waiting_.resize(links_.size());
    free_at_.assign(links_.size(), 0);
    last_step_.assign(links_.size(), -1);
  }

  void add_to(ScheduleBuilder* builder) {
    const std::size_t slots = tree_of_.size() * rank_count_;
    heedful_resize(&missing_, slots, std::uint8_t{0});
    heedful_resize(&landed_, slots, std::int32_t{-1});
    const std::size_t transfers = tree_of_.size() * (rank_count_ - 1) * 2;
    served_.reserve(transfers);
    begin();
    for (Ticks now = 0; served_.size() < transfers; ++now) {
      const auto at = static_cast<std::size_t>(now % wheel_size_);
      for (const Message& message : std::exchange(arriving_[at], {})) arrive(message);
      for (std::int32_t link : freed_[at]) woken_.push_back(link);
      freed_[at].clear();
      for (std::int32_t link : woken_) serve(link, now);
      heed_interrupt(static_cast<std::int64_t>(woken_.size()) + 1);
      woken_.clear();
    }
    add_in_steps(builder);
  }

 private:
  struct Message {
    std::int32_t link;
    std::uint32_t chunk;
  };
  struct Served {
    std::int32_t step;
    std::int32_t link;
    std::uint32_t chunk;
  };
  /// The least goes first.
  struct Waiting {
    Ticks urgency;
    std::uint32_t chunk;
    friend auto operator<=>(const Waiting&, const Waiting&) = default;
  };

  const TicksOfLink& time(std::size_t tree, std::int32_t link) const {
    const int kind = links_[static_cast<std::size_t>(link)].kind;
    return time_[tree * kind_count_ + static_cast<std::size_t>(kind)];
  }
  const TimedTree& timed(std::uint32_t chunk) const {
    return timed_[static_cast<std::size_t>(tree_of_[chunk])];
  }
  std::size_t slot(std::uint32_t chunk, std::int32_t rank) const {
    return chunk * rank_count_ + static_cast<std::size_t>(rank);
  }

  /// Each chunk's tree, and when it is due: after those before it have taken their share of what the busiest link needs.
  void number_chunks() {
    std::size_t count = 0;
    for (const UpDownTree& tree : trees_) count += tree.chunks.size();
    tree_of_.resize(count);
    std::vector<Ticks> busy(links_.size(), 0);
    double bytes = 0;
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      for (Chunk chunk : trees_[t].chunks) tree_of_[static_cast<std::size_t>(chunk)] = static_cast<int>(t);
      const auto chunks = static_cast<Ticks>(trees_[t].chunks.size());
      bytes += trees_[t].chunk_bytes * static_cast<double>(chunks);
      for (std::int32_t up : trees_[t].up_link) {
        if (up == UpDownTree::kNone) continue;
        for (std::int32_t link : {up, opposite(up)})
          busy[static_cast<std::size_t>(link)] += chunks * time(t, link).busy;
      }
    }
    const auto busiest = static_cast<double>(*std::max_element(busy.begin(), busy.end()));
    double before = 0;
    for (int tree : tree_of_) {
      due_.push_back(std::llround(bytes > 0 ? busiest * before / bytes : 0.0));
      before += trees_[static_cast<std::size_t>(tree)].chunk_bytes;
    }
  }

  void begin() {
    const auto ranks = static_cast<std::int32_t>(rank_count_);
    for (std::uint32_t chunk = 0; chunk < tree_of_.size(); ++chunk) {
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        const std::int32_t children = timed(chunk).child_count(rank);
        missing_[slot(chunk, rank)] = static_cast<std::uint8_t>(children);
        if (children == 0) send_up(chunk, rank);
      }
      heed_interrupt(ranks);
    }
  }

  void send_up(std::uint32_t chunk, std::int32_t rank) {
    wait(timed(chunk).up_link(rank), timed(chunk).way_up(rank), chunk);
  }
  void send_down(std::uint32_t chunk, std::int32_t rank) {
    timed(chunk).for_each_child(rank, [&](std::int32_t child) {
      wait(opposite(timed(chunk).up_link(child)), timed(chunk).way_down(child), chunk);
    });
  }
  void wait(std::int32_t link, Ticks way, std::uint32_t chunk) {
    std::vector<Waiting>& queue = waiting_[static_cast<std::size_t>(link)];
    queue.push_back({kOrderCounts * due_[chunk] - kWayCounts * way, chunk});
    std::push_heap(queue.begin(), queue.end(), std::greater<>());
    woken_.push_back(link);
  }

  bool goes_up(std::uint32_t chunk, std::int32_t link) const {
    return timed(chunk).up_link(links_[static_cast<std::size_t>(link)].src) == link;
  }

  void arrive(const Message& message) {
    const std::int32_t rank = links_[static_cast<std::size_t>(message.link)].dst;
    if (!goes_up(message.chunk, message.link)) return send_down(message.chunk, rank);
    if (--missing_[slot(message.chunk, rank)] > 0) return;
    if (timed(message.chunk).up_link(rank) == UpDownTree::kNone) return send_down(message.chunk, rank);
    send_up(message.chunk, rank);
  }

  void serve(std::int32_t link, Ticks now) {
    const auto l = static_cast<std::size_t>(link);
    std::vector<Waiting>& queue = waiting_[l];
    if (free_at_[l] > now || queue.empty()) return;
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    const std::uint32_t chunk = queue.back().chunk;
    queue.pop_back();
    const TicksOfLink& takes = time(static_cast<std::size_t>(tree_of_[chunk]), link);
    free_at_[l] = now + takes.busy;
    freed_[static_cast<std::size_t>(free_at_[l] % wheel_size_)].push_back(link);
    arriving_[static_cast<std::size_t>((free_at_[l] + takes.latency) % wheel_size_)].push_back({link, chunk});
    const std::int32_t step = 1 + std::max(last_step_[l], landed_[slot(chunk, links_[l].src)]);
    std::int32_t& landed = landed_[slot(chunk, links_[l].dst)];
    landed = std::max(landed, step);
    last_step_[l] = step;
    served_.push_back({step, link, chunk});
  }

  /// Steps ascend, so that the builder takes them as they are.
  void add_in_steps(ScheduleBuilder* builder) {
    std::vector<std::size_t> next(1, 0);
    for (const Served& one : served_) {
      const auto step = static_cast<std::size_t>(one.step);
      if (step + 2 > next.size()) next.resize(step + 2, 0);
      ++next[step + 1];
    }
    for (std::size_t step = 1; step < next.size(); ++step) next[step] += next[step - 1];
    std::vector<Served> ordered;
    heedful_resize(&ordered, served_.size());
    for_heedful_blocks(served_.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        ordered[next[static_cast<std::size_t>(served_[i].step)]++] = served_[i];
    });
    builder->reserve(static_cast<std::int64_t>(ordered.size()));
    for (const Served& one : ordered) {
      const TreeLink& link = links_[static_cast<std::size_t>(one.link)];
      builder->add({Step{one.step}, link.src, link.dst, Chunk{one.chunk}, goes_up(one.chunk, one.link)});
    }
  }

  const std::vector<TreeLink>& links_;
  std::size_t kind_count_;
  const std::vector<UpDownTree>& trees_;
  std::size_t rank_count_;
  Clock clock_;
  std::vector<TimedTree> timed_;
  std::vector<TicksOfLink> time_;  ///< by tree, then kind of link
  std::vector<int> tree_of_;       ///< by chunk
  std::vector<Ticks> due_;         ///< by chunk
  Ticks wheel_size_ = 2;
  std::vector<std::vector<Message>> arriving_;    ///< by tick
  std::vector<std::vector<std::int32_t>> freed_;  ///< by tick
  std::vector<std::vector<Waiting>> waiting_;     ///< by link, a heap
  std::vector<Ticks> free_at_;                    ///< by link
  std::vector<std::int32_t> last_step_;           ///< by link
  std::vector<std::int32_t> woken_;               ///< links that may begin something in this tick
  std::vector<std::uint8_t> missing_;             ///< by chunk and rank: children that have not sent
  std::vector<std::int32_t> landed_;              ///< by chunk and rank: the step of what landed last
  std::vector<Served> served_;
};

}  // namespace

void add_up_and_down(ScheduleBuilder* builder, const TreeLinks& network,
                     const std::vector<UpDownTree>& trees) {
  if (builder->rank_count() < 2) return;
  Turns(network, trees, static_cast<std::size_t>(builder->rank_count())).add_to(builder);
}

}  // namespace hemiola::algorithms
