// SPDX-License-Identifier: Apache-2.0
// Three nodes of two ranks, a and b; rank b of node 2 is late. Every rank carries the half of the buffer that has its place.
//
//   before    inside nodes 0, 1    a and b tell each other what the other carries; on node 2 a has nobody to ask
//             between nodes 0, 1   a to a, b to b: each chunk ends at its owner, as in `all_reduce_late`
//   after     inside node 2        b adds its first half to a's, a its second half to b's, chunk by chunk, one step ahead of
//             between all nodes    `all_reduce_late`'s finish for a late node 2, a to a and b to b
//             inside all nodes     what has come complete is handed on, one step behind
//
// So a NIC carries each byte once each way after the arrival, however many ranks share it.
#include "hemiola/algorithms/late/late_hierarchical.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "hemiola/algorithms/late/early_reduce.hpp"
#include "hemiola/algorithms/layout_argument.hpp"
#include "hemiola/algorithms/papers.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

constexpr const char* kName = "all_reduce_late_hierarchical";

class LateNodes {
 public:
  LateNodes(const NodeLayout& layout, Rank late, const LateSegments& parts)
      : layout_(layout),
        late_(late),
        late_node_(layout.node_of(late)),
        nodes_(layout.node_count()),
        places_(layout.size(0)),
        parts_(parts),
        per_segment_((nodes_ - 1) * parts.chunks_per_owner) {}

  Schedule make() const {
    ScheduleBuilder builder(
        Collective::with_owners(CollectiveKind::all_reduce, layout_.rank_count(), owners()));
    builder.set_chunk_weights(weights());
    int step = parts_.reduced * late_node_steps(nodes_);
    if (parts_.reduced > 0) {
      const auto table = cached_late_finish(nodes_, reduced_chunks(), parts_.finish);
      const FinishInJob finish{*table, Rank{late_node_}, segmented_order(*table, parts_.chunks_per_owner)};
      for (int place = 0; place < places_; ++place) {
        for (Chunk c : indices<Chunk>(reduced_chunks())) add_reduction(&builder, finish, place, c);
        add_finish(&builder, finish, place, step);
      }
      step += 1 + static_cast<int>(table->rounds.size()) + 1;  // one ahead, one behind
    }
    if (plain_segments() > 0)
      for (int place = 0; place < places_; ++place) add_plain(&builder, place, step);
    return builder.finish();
  }

 private:
  /// Of a place.
  int reduced_chunks() const { return parts_.reduced * per_segment_; }
  int plain_segments() const { return parts_.segments - parts_.reduced; }

  /// The schedule's number of the chunk `piece` among the reduced chunks of a place: segments are whole.
  Chunk chunk(int place, int piece) const {
    return Chunk{(piece / per_segment_ * places_ + place) * per_segment_ + piece % per_segment_};
  }
  Chunk plain_chunk(int place, int piece) const {
    return Chunk{places_ * reduced_chunks() + place * nodes_ + piece};
  }
  /// The rank that holds the early ranks' sum, on the late node, of the chunks of a place.
  Rank stand_in(int place) const {
    const Rank rank = layout_.rank(late_node_, place);
    return rank == late_ ? layout_.rank(late_node_, (place + 1) % places_) : rank;
  }
  /// By the order in which the other nodes are numbered.
  int early_node(int number) const { return rank_in_job(Rank{number}, Rank{late_node_}, nodes_); }

  std::vector<Rank> owners() const {
    std::vector<Rank> owner;
    for (int segment = 0; segment < parts_.reduced; ++segment)
      for (int place = 0; place < places_; ++place)
        for (int c = 0; c < per_segment_; ++c)
          owner.push_back(layout_.rank(early_node(c / parts_.chunks_per_owner), place));
    if (plain_segments() > 0)
      for (int place = 0; place < places_; ++place)
        for (int node = 0; node < nodes_; ++node) owner.push_back(layout_.rank(node, place));
    return owner;
  }

  /// Every segment weighs places·per_segment·nodes, in chunks of either kind.
  std::vector<std::int64_t> weights() const {
    std::vector<std::int64_t> weights(static_cast<std::size_t>(places_ * reduced_chunks()), nodes_);
    if (plain_segments() > 0)
      weights.insert(weights.end(), static_cast<std::size_t>(places_ * nodes_),
                     std::int64_t{plain_segments()} * per_segment_);
    return weights;
  }

  void add_reduction(ScheduleBuilder* builder, const FinishInJob& finish, int place, Chunk c) const {
    const int piece = finish.piece(c, 0), first = piece / per_segment_ * late_node_steps(nodes_);
    for (int node = 0; node < nodes_; ++node) {
      const Rank to = node == late_node_ ? stand_in(place) : layout_.rank(node, place);
      gather_inside(builder, Step{first}, node, to, chunk(place, piece));
    }
    const int early = nodes_ - 1, end = finish.owner(c);
    for (int hop = 0; hop < early - 1; ++hop)
      builder->reduce(Step{first + 1 + hop}, layout_.rank(early_node((end + 1 + hop) % early), place),
                      layout_.rank(early_node((end + 2 + hop) % early), place), chunk(place, piece));
  }

  void add_finish(ScheduleBuilder* builder, const FinishInJob& finish, int place, int first_step) const {
    const Rank carrier = layout_.rank(late_node_, place);
    const auto missing = carrier == late_ ? stand_in(place) : late_;
    std::vector<bool> has_entered(static_cast<std::size_t>(reduced_chunks()), false);
    std::vector<int> whole_at(static_cast<std::size_t>(nodes_ * reduced_chunks()), 0);
    int step = first_step;
    for (const auto& round : finish.table.rounds) {
      for (const FinishMove& move : round) {
        const int from = finish.rank(move.src), to = finish.rank(move.dst);
        const Chunk moved = chunk(place, finish.piece(move.chunk, 0));
        const auto c = static_cast<std::size_t>(move.chunk);
        if ((from == late_node_ || to == late_node_) && !has_entered[c]) {
          builder->reduce(Step{step}, missing, carrier, moved);
          has_entered[c] = true;
        }
        builder->add(
            {Step{step + 1}, layout_.rank(from, place), layout_.rank(to, place), moved, move.reduce});
        whole_at[static_cast<std::size_t>(to * reduced_chunks() + move.chunk)] = step + 2;
      }
      ++step;
    }
    for (int node = 0; node < nodes_; ++node)
      for (Chunk c : indices<Chunk>(reduced_chunks()))
        hand_on(builder, Step{whole_at[static_cast<std::size_t>(node * reduced_chunks() + c)]}, node, place,
                chunk(place, finish.piece(c, 0)));
  }

  /// The hierarchical all-reduce of all, between nodes by a ring for each place.
  void add_plain(ScheduleBuilder* builder, int place, int first_step) const {
    const int last_reduction = nodes_ - 2;
    for (int node = 0; node < nodes_; ++node)
      for (int c = 0; c < nodes_; ++c)
        for (int local = 0; local < places_; ++local)
          if (local != place)
            builder->reduce(Step{first_step}, layout_.rank(node, local), layout_.rank(node, place),
                            plain_chunk(place, c));
    for (int t = 0; t < 2 * (nodes_ - 1); ++t)
      for (int node = 0; node < nodes_; ++node) {
        const bool reduces = t <= last_reduction;
        const int to = (node + 1) % nodes_, c = (node + (reduces ? nodes_ : 2 * nodes_) - 1 - t) % nodes_;
        builder->add({Step{first_step + 1 + t}, layout_.rank(node, place), layout_.rank(to, place),
                      plain_chunk(place, c), reduces});
        if (t >= last_reduction) hand_on(builder, Step{first_step + 2 + t}, to, place, plain_chunk(place, c));
      }
  }

  /// Adds the parts of the other early ranks of its node to `to`'s.
  void gather_inside(ScheduleBuilder* builder, Step step, int node, Rank to, Chunk chunk) const {
    for (int local = 0; local < places_; ++local)
      if (const Rank from = layout_.rank(node, local); from != to && from != late_)
        builder->reduce(step, from, to, chunk);
  }
  void hand_on(ScheduleBuilder* builder, Step step, int node, int place, Chunk chunk) const {
    for (int local = 0; local < places_; ++local)
      if (local != place) builder->copy(step, layout_.rank(node, place), layout_.rank(node, local), chunk);
  }

  const NodeLayout& layout_;
  Rank late_;
  int late_node_, nodes_, places_;
  LateSegments parts_;
  int per_segment_;  ///< chunks of a place in a segment
};

std::string why_not(const NodeLayout& layout) {
  if (layout.node_count() >= 3 && layout.is_even() && layout.size(0) >= 2) return "";
  return "expected 3 nodes or more, of equally many ranks, at least 2; found " +
         std::to_string(layout.rank_count()) + " ranks on " + std::to_string(layout.node_count()) +
         " nodes. With one rank a node, take all_reduce_late_segmented";
}

std::string why_not(const Task& task) {
  if (task.topology == nullptr) return why_no_nodes(task);
  std::vector<int> node_of_rank;
  for (Rank rank : indices<Rank>(task.rank_count)) node_of_rank.push_back(task.topology->node_of(rank));
  return why_not(NodeLayout::placed(node_of_rank));
}

constexpr const char* kDoc =
    R"(All-reduce with one late rank on nodes of several ranks, which share the links between nodes.

Ranks of a node add up their shares; ranks of the same place on different nodes do the rest: as in
``all_reduce_late_segmented``, with nodes in place of ranks. The late rank's node is the late one; its early ranks have
added up their own parts by then. A NIC carries every byte of a reduced segment once each way after the arrival, however
many ranks share it.

Parameters
----------
nodes : int >= 3.
ranks_per_node : int >= 2, the same on all nodes.
late_rank : int, 0 … rank_count-1.
segments : int >= 1, equal parts of the buffer.
reduced : int, 0 … segments, how many the early ranks reduce before the late rank joins.
chunks_per_owner : int >= 1, chunks into which an early node's block of a segment is cut, at each place.
node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.
finish : "doubling", the fewest rounds; or "direct", in which the holder of a chunk sends it to all nodes itself.

Returns
-------
Schedule, with chunk_weights when both kinds of segment occur.

Raises
------
ArgumentError
    if an argument is outside its range, or nodes differ in their ranks.

Notes
-----
For N nodes reduced·(N-1) steps before arrival. Then reduced·(N-1)·chunks_per_owner + ceil(log2 N) + 1 rounds, or + N + 1
if direct; the first and the last are inside nodes. Then 2(N-1) steps of rings over the rest, and two more inside. The
construction is ours.)";

Function make_function() {
  return function(
      kName,
      {required("nodes"), required("ranks_per_node"), required("late_rank"), keyword(required("segments")),
       keyword(required("reduced")), keyword(optional("chunks_per_owner", 1)),
       keyword(optional("node_of_rank")), keyword(optional("finish", std::string("doubling")))},
      kDoc,
      [](int nodes, const Counts& ranks_per_node, int late_rank, int segments, int reduced,
         int chunks_per_owner, const NodeOfRank& node_of_rank, const std::string& finish) {
        const NodeLayout layout = layout_of(kName, {nodes, ranks_per_node, node_of_rank});
        return all_reduce_late_hierarchical(
            layout, Rank{late_rank}, {segments, reduced, chunks_per_owner, finish_kind(kName, finish)});
      });
}

}  // namespace

Schedule all_reduce_late_hierarchical(const NodeLayout& layout, Rank late_rank, const LateSegments& parts) {
  if (const std::string reason = why_not(layout); !reason.empty())
    throw ArgumentError(std::string(kName) + ": " + reason);
  check_late_rank(kName, layout.rank_count(), late_rank);
  check_segments(kName, parts);
  return LateNodes(layout, late_rank, parts).make();
}

std::vector<Algorithm> late_hierarchical_algorithms() {
  return {{.name = kName,
           .kind = CollectiveKind::all_reduce,
           .paper = kTraff,
           .idea = "Nodes are late as ranks are in `all_reduce_late_segmented`, on every local index at "
                   "once; inside nodes what "
                   "a place needs is added up before, and handed on as it comes.",
           .sizes = "any n ≥ 3 nodes of equally many ranks, 2 or more",
           .chunks_formula = "",
           .steps_formula = "",
           .bytes_formula = "",
           .formula = "",
           .needs = Needs::late,
           .functions = {make_function()},
           .why_not = [](const Task& task) { return why_not(task); }}};
}

}  // namespace hemiola::algorithms
