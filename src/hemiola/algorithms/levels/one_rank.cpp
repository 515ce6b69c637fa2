// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/levels/one_rank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "hemiola/algorithms/levels/hierarchical.hpp"

namespace hemiola::algorithms {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// A chunk that is sent in a step; all are of the same size.
struct SentChunk {
  double ready;  ///< when it could leave
  bool is_far;
  double* arrives;  ///< where it is noted when its last byte has left
};

/// Chunks of one class, near or far, which leave in the order in which they became ready. Each has had `served` bytes
/// since it began, as much as any other beside it.
class Stream {
 public:
  explicit Stream(double bytes) : bytes_(bytes) {}

  void add(double ready, double* left) { waiting_.push_back({ready, left, 0}); }
  void sort() {
    const auto earlier = [](const Item& a, const Item& b) { return a.ready < b.ready; };
    if (!std::is_sorted(waiting_.begin(), waiting_.end(), earlier))
      std::stable_sort(waiting_.begin(), waiting_.end(), earlier);
  }

  bool is_done() const { return first_ == waiting_.size(); }
  std::size_t flowing() const { return next_ - first_; }
  double next_ready() const { return next_ == waiting_.size() ? kNever : waiting_[next_].ready; }
  /// Bytes that the first one has still to send.
  double first_left() const { return waiting_[first_].until - served_; }

  void start(double now) {
    while (next_ < waiting_.size() && waiting_[next_].ready <= now)
      waiting_[next_++].until = served_ + bytes_;
  }
  void serve(double bytes, double now) {
    served_ += bytes;
    const double almost = bytes_ * 1e-12;
    while (first_ < next_ && waiting_[first_].until <= served_ + almost) *waiting_[first_++].left = now;
  }

 private:
  struct Item {
    double ready;
    double* left;
    double until;
  };
  double bytes_;
  double served_ = 0;
  std::vector<Item> waiting_;
  std::size_t first_ = 0, next_ = 0;  ///< of those that flow: [first, next)
};

/// Whether something that all chunks wait for, or that they take together, is more than a number can say.
bool takes_for_ever(const std::vector<SentChunk>& chunks, double bytes, double most_s,
                    double far_s_per_byte) {
  for (const SentChunk& c : chunks) most_s = std::max({most_s, c.ready, c.is_far ? far_s_per_byte : 0});
  return !std::isfinite(most_s * static_cast<double>(chunks.size()) * std::max(bytes, 1.0));
}

/// Sends the chunks of a step, all of `bytes`, through a port that comes to it at `open`; returns when it is
/// done. They share the port evenly, but for the share that far ones leave to others because the links
/// between groups carry no more. Before them, once the first is ready, the port is taken for `messages_s`.
double send(const std::vector<SentChunk>& chunks, double bytes, double open, const Way& port,
            double far_s_per_byte, double messages_s) {
  Stream near(bytes), far(bytes);
  if (chunks.empty()) return open;
  double first_ready = chunks[0].ready;
  for (const SentChunk& c : chunks) first_ready = std::min(first_ready, c.ready);
  const double paid = std::max(open, first_ready) + messages_s;
  if (takes_for_ever(chunks, bytes, std::max(paid, port.s_per_byte), far_s_per_byte)) {
    for (const SentChunk& c : chunks) *c.arrives = kNever;
    return kNever;
  }
  for (const SentChunk& c : chunks) (c.is_far ? far : near).add(std::max(c.ready, paid), c.arrives);
  near.sort();
  far.sort();
  double now = open;
  while (!near.is_done() || !far.is_done()) {
    near.start(now);
    far.start(now);
    const double n = static_cast<double>(near.flowing()), f = static_cast<double>(far.flowing());
    const double arrival = std::min(near.next_ready(), far.next_ready());
    if (n + f == 0) {
      now = arrival;
      continue;
    }
    const double even = 1 / ((n + f) * port.s_per_byte);
    const double far_rate = f == 0 ? 0 : std::min(even, 1 / (f * far_s_per_byte));
    const double near_rate = n == 0 ? 0 : (1 / port.s_per_byte - f * far_rate) / n;
    double span = arrival - now;
    if (n > 0) span = std::min(span, near.first_left() / near_rate);
    if (f > 0) span = std::min(span, far.first_left() / far_rate);
    now += span;
    near.serve(span * near_rate, now);
    far.serve(span * far_rate, now);
  }
  return now;
}

/// When one rank has each chunk that it carries: per slice, one entry for each node, by how far that is
/// behind it.
class OneRank {
 public:
  OneRank(const NodeNetwork& network, std::int64_t nbytes, int slices)
      : network_(network),
        slices_(slices),
        groups_(network.group_count),
        places_(network.node_count / network.group_count),
        bytes_(static_cast<double>(nbytes) * network.chunks_per_rank /
               (static_cast<double>(network.node_count) * network.ranks_per_node * slices)),
        rounds_(level_rounds(groups_, places_, slices)),
        ready_(static_cast<std::size_t>(slices) * static_cast<std::size_t>(network.node_count)) {
    for (const LevelRound& round : rounds_) step_count_ = std::max(step_count_, round.first_step + slices);
  }

  /// The all-gather, once own chunks are ready.
  void gather() {
    std::vector<double> arrived;
    for (int slice = 0; slice < slices_; ++slice) arrived.push_back(entry(slice, 0, 0));
    hand_on(arrived);
    for (int step = 0; step < step_count_; ++step) {
      send_forwards(step);
      arrived.clear();
      for_each_in(step, [&](const LevelRound& round, int slice) {
        for_each_node(round, [&](int group, int place) {
          arrived.push_back(entry(slice, group + round.ahead.groups, place + round.ahead.places));
        });
      });
      for (const double at : arrived) finish_ = std::max(finish_, at);
      hand_on(arrived);
    }
  }

  /// The reduce-scatter: the all-gather backwards, in which the parts that a neighbour inside has to add are
  /// there from the start.
  void scatter() {
    for (int step = step_count_ - 1; step >= 0; --step) {
      add_inside(step);
      send_backwards(step);
    }
    add_own();
    for (int slice = 0; slice < slices_; ++slice) finish_ = std::max(finish_, entry(slice, 0, 0));
  }

  double finish() const { return finish_; }

 private:
  static void raise(double* value, double to) { *value = std::max(*value, to); }
  bool hands_on() const { return network_.ranks_per_node > 1; }
  double& entry(int slice, int group, int place) {
    return ready_[(static_cast<std::size_t>(slice) * static_cast<std::size_t>(places_) +
                   static_cast<std::size_t>(place)) *
                      static_cast<std::size_t>(groups_) +
                  static_cast<std::size_t>(group)];
  }

  template <typename Visit>
  void for_each_in(int step, Visit visit) const {
    for (const LevelRound& round : rounds_)
      if (const int slice = step - round.first_step; slice >= 0 && slice < slices_) visit(round, slice);
  }
  template <typename Visit>
  static void for_each_node(const LevelRound& round, Visit visit) {
    for (int place = 0; place < round.places; ++place)
      for (int group = round.first_group; group < round.end_group; ++group) visit(group, place);
  }
  double latency(const LevelRound& round) const {
    return round.ahead.groups > 0 ? network_.far.latency_s : network_.near.latency_s;
  }

  /// The time of a step's messages beside their bytes: each round has one.
  double messages_s(int step) const {
    double sum = 0;
    for_each_in(step, [&](const LevelRound& round, int) {
      sum += round.ahead.groups > 0 ? network_.far.message_s : network_.near.message_s;
    });
    return sum;
  }

  void send_forwards(int step) {
    chunks_.clear();
    for_each_in(step, [&](const LevelRound& round, int slice) {
      for_each_node(round, [&](int group, int place) {
        chunks_.push_back({entry(slice, group, place), round.ahead.groups > 0,
                           &entry(slice, group + round.ahead.groups, place + round.ahead.places)});
      });
    });
    nic_free_ = send(chunks_, bytes_, nic_free_, network_.near, network_.far.s_per_byte, messages_s(step));
    for_each_in(step, [&](const LevelRound& round, int slice) {
      for_each_node(round, [&](int group, int place) {
        entry(slice, group + round.ahead.groups, place + round.ahead.places) += latency(round);
      });
    });
  }

  void send_backwards(int step) {
    chunks_.clear();
    left_.clear();
    std::size_t count = 0;
    for_each_in(step,
                [&](const LevelRound& round, int) { count += static_cast<std::size_t>(round.node_count()); });
    left_.resize(count);
    std::size_t next = 0;
    for_each_in(step, [&](const LevelRound& round, int slice) {
      for_each_node(round, [&](int group, int place) {
        chunks_.push_back({entry(slice, group + round.ahead.groups, place + round.ahead.places),
                           round.ahead.groups > 0, &left_[next++]});
      });
    });
    nic_free_ = send(chunks_, bytes_, nic_free_, network_.near, network_.far.s_per_byte, messages_s(step));
    next = 0;
    for_each_in(step, [&](const LevelRound& round, int slice) {
      for_each_node(round, [&](int group, int place) {
        raise(&entry(slice, group, place), left_[next++] + latency(round));
      });
    });
  }

  /// Neighbours inside add to the chunks that leave in a step, which arrived in it forwards.
  void add_inside(int step) {
    if (!hands_on()) return;
    int count = 0;
    for_each_in(step, [&](const LevelRound& round, int) { count += round.node_count(); });
    const double added = collect(count);
    for_each_in(step, [&](const LevelRound& round, int slice) {
      for_each_node(round, [&](int group, int place) {
        raise(&entry(slice, group + round.ahead.groups, place + round.ahead.places), added);
      });
    });
  }
  void add_own() {
    if (!hands_on()) return;
    const double added = collect(slices_);
    for (int slice = 0; slice < slices_; ++slice) raise(&entry(slice, 0, 0), added);
  }
  /// When so many messages from every neighbour are there.
  double collect(int count) {
    if (count > 0) inner_free_ += network_.inside.message_s + count * bytes_ * network_.inside.s_per_byte;
    return inner_free_ + network_.inside.latency_s;
  }

  /// Chunks that are ready at these times go to every neighbour inside.
  void hand_on(const std::vector<double>& ready) {
    if (!hands_on() || ready.empty()) return;
    chunks_.clear();
    left_.resize(ready.size());
    for (std::size_t i = 0; i < ready.size(); ++i) chunks_.push_back({ready[i], false, &left_[i]});
    inner_free_ = send(chunks_, bytes_, inner_free_, network_.inside, 0, network_.inside.message_s);
    finish_ = std::max(finish_, inner_free_ + network_.inside.latency_s);
  }

  const NodeNetwork& network_;
  int slices_, groups_, places_;
  double bytes_;  ///< of a chunk's slice
  std::vector<LevelRound> rounds_;
  int step_count_ = 0;  ///< between nodes
  std::vector<double> ready_;
  double nic_free_ = 0, inner_free_ = 0, finish_ = 0;
  std::vector<SentChunk> chunks_;
  std::vector<double> left_;
};

}  // namespace

double one_rank_seconds(CollectiveKind kind, const NodeNetwork& network, std::int64_t nbytes, int slices) {
  if (nbytes == 0) return 0;
  OneRank rank(network, nbytes, slices);
  if (kind != CollectiveKind::all_gather) rank.scatter();
  if (kind != CollectiveKind::reduce_scatter) rank.gather();
  return rank.finish();
}

}  // namespace hemiola::algorithms
