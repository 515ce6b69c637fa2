// SPDX-License-Identifier: Apache-2.0
// Three nodes of two ranks; chunks are named by node and place. Node 2's receives and sends in an all-gather,
// one slice:
//
//   step 0   from node 1: 1a 1b   to ranks a and b                     a tells b 2a, b tells a 2b
//   step 1   from node 0: 0a 0b   (two nodes up; only what is new)     a tells b 1a, b tells a 1b
//   step 2                                                             a tells b 0a, b tells a 0b
//
// In round k a node sends to the node 2^k ahead its chunks of the 2^k nodes behind it, itself included: any
// number of nodes is whole after ⌈log2⌉ rounds. Every local rank carries the chunks of its own place, so that
// all NICs are busy and every byte lands where it belongs. Slices of a round follow each other, and the next
// round begins with the first slice: its latency hides behind the others.
//
// With groups of nodes the same happens between groups first, and the chunks from there are passed on round
// by round inside the group, as they come. Far links carry every byte once, while near ones are never idle.
#include "hemiola/algorithms/levels/hierarchical.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "hemiola/algorithms/index/binary.hpp"
#include "hemiola/algorithms/layout_argument.hpp"
#include "hemiola/algorithms/levels/mirrored.hpp"
#include "hemiola/algorithms/levels/one_rank.hpp"
#include "hemiola/algorithms/papers.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/hash.hpp"

namespace hemiola::algorithms {
namespace {

constexpr int kMaxSlices = 4096;
constexpr int kDefaultSlices = 4;

/// How many nodes' (groups') chunks a node holds for a round that reaches `ahead` of `count`, and the other still lacks.
int held_in_round(int ahead, int count) {
  return std::min(ahead, count - ahead);
}

/// The groups whose chunks arrive in far round `round - 1`, as distances behind: [begin, end); round 0: one's own.
struct Batch {
  int begin, end;
};
Batch batch_of(int round, int group_count) {
  if (round == 0) return {0, 1};
  return {1 << (round - 1), std::min(1 << round, group_count)};
}

class Gather {
 public:
  Gather(const NodeLayout& layout, int slices)
      : layout_(layout),
        slices_(slices),
        rounds_(level_rounds(layout.group_count(), layout.nodes_per_group(), slices)) {}

  int step_count() const {
    bool hands_on = false;
    for (int node = 0; node < layout_.node_count(); ++node) hands_on = hands_on || layout_.size(node) > 1;
    int between = 0;
    for (const LevelRound& round : rounds_) between = std::max(between, round.first_step + slices_);
    return between + (hands_on ? 1 : 0);
  }

  /// Calls visit(transfer) for all transfers, in no particular order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (int node = 0; node < layout_.node_count(); ++node) own_chunks(node, visit);
    for (const LevelRound& round : rounds_)
      for (int slice = 0; slice < slices_; ++slice) {
        for (int node = 0; node < layout_.node_count(); ++node) between_nodes(round, slice, node, visit);
        for (int node = 0; node < layout_.node_count(); ++node) inside_node(round, slice, node, visit);
      }
  }

  /// The same for those that leave or reach some rank of a node.
  template <typename Visit>
  void for_each_at(int node, Visit visit) const {
    own_chunks(node, visit);
    for (const LevelRound& round : rounds_)
      for (int slice = 0; slice < slices_; ++slice) {
        between_nodes(round, slice, node, visit);
        between_nodes(round, slice, layout_.behind(node, round.ahead), visit);
        inside_node(round, slice, node, visit);
      }
  }

 private:
  /// The rank of a node that carries a chunk: the one of the same place. Where a node has fewer ranks than the chunk's
  /// owner has neighbours, its ranks take turns with those that are left over.
  Rank carrier(int node, int owner, int local, int slice) const {
    const int size = layout_.size(node);
    return layout_.rank(node, local < size ? local : (local + owner + slice) % size);
  }
  Chunk chunk(int owner, int local, int slice) const {
    return Chunk{layout_.rank(owner, local) * slices_ + slice};
  }

  /// Calls visit(owner node, local rank) for the chunks that a node sends in a round.
  template <typename Visit>
  void for_each_sent(const LevelRound& round, int node, Visit visit) const {
    for (int groups = round.first_group; groups < round.end_group; ++groups)
      for (int places = 0; places < round.places; ++places) {
        const int owner = layout_.behind(node, {groups, places});
        for (int local = 0; local < layout_.size(owner); ++local) visit(owner, local);
      }
  }

  template <typename Visit>
  void between_nodes(const LevelRound& round, int slice, int node, Visit visit) const {
    const int to = layout_.ahead(node, round.ahead);
    for_each_sent(round, node, [&](int owner, int local) {
      visit(Transfer{Step{round.first_step + slice}, carrier(node, owner, local, slice),
                     carrier(to, owner, local, slice), chunk(owner, local, slice), false});
    });
  }

  /// Chunks that have reached a node in a round go to all its other ranks, one step behind.
  template <typename Visit>
  void inside_node(const LevelRound& round, int slice, int node, Visit visit) const {
    for_each_sent(round, layout_.behind(node, round.ahead), [&](int owner, int local) {
      hand_on(Step{round.first_step + slice + 1}, node, carrier(node, owner, local, slice),
              chunk(owner, local, slice), visit);
    });
  }

  template <typename Visit>
  void own_chunks(int node, Visit visit) const {
    for (int local = 0; local < layout_.size(node); ++local)
      for (int slice = 0; slice < slices_; ++slice)
        hand_on(Step{0}, node, layout_.rank(node, local), chunk(node, local, slice), visit);
  }

  template <typename Visit>
  void hand_on(Step step, int node, Rank from, Chunk chunk, Visit visit) const {
    for (int local = 0; local < layout_.size(node); ++local)
      if (const Rank to = layout_.rank(node, local); to != from)
        visit(Transfer{step, from, to, chunk, false});
  }

  const NodeLayout& layout_;
  int slices_;
  std::vector<LevelRound> rounds_;
};

std::string checked_name(CollectiveKind kind, int slices) {
  std::string name = std::string(name_of(kind)) + "_hierarchical";
  if (slices < 1 || slices > kMaxSlices)
    throw ArgumentError(name + ": expected 1 … " + std::to_string(kMaxSlices) + " slices, found " +
                        std::to_string(slices));
  return name;
}

/// By (step, src, dst, chunk, reduce), as a schedule has its transfers.
bool comes_before(const Transfer& a, const Transfer& b) {
  return std::tie(a.step, a.src, a.dst, a.chunk, a.reduce) <
         std::tie(b.step, b.src, b.dst, b.chunk, b.reduce);
}

/// Slices that are worth trying; more of them are smaller than the cost of a message anyway.
constexpr int kSliceCounts[] = {1, 2, 4, 8, 16, 32};
constexpr std::int64_t kLeastSliceBytes = 4096;  ///< that a rank carries, of all nodes together

/// Whether one rank stands for all, and chunks are of one size but for rounding.
bool is_exact(const Task& task, const NodeNetwork& network, int slices) {
  const std::int64_t chunks = std::int64_t{task.rank_count} * slices;
  const bool are_alike = task.nbytes % chunks == 0 || task.nbytes / chunks >= kLeastSliceBytes;
  return are_alike && network.is_even && network.group_count == 1 && task.delay_s() == 0;
}

std::vector<Variant> variants(const Task& task) {
  const NodeNetwork* network = task.nodes();
  if (network == nullptr || (network->ranks_per_node == 1 && network->group_count == 1)) return {};
  std::vector<Variant> found;
  for (const int slices : kSliceCounts) {
    if (slices > 1 && task.nbytes / (std::int64_t{network->ranks_per_node} * slices) < kLeastSliceBytes)
      break;
    const std::int64_t transfers = mirrored_transfers(task.kind, task.rank_count, slices);
    const bool knows_more = transfers > task.most_transfers || is_exact(task, *network, slices);
    found.push_back({.formula_s = task.delay_s() + one_rank_seconds(task.kind, *network, task.nbytes, slices),
                     .transfer_count = transfers,
                     .parameter = "slices",
                     .count = slices,
                     .is_simulation = knows_more && !network->has_cables});
  }
  return found;
}

constexpr const char* kParametersDoc = R"(

Parameters
----------
nodes : int >= 1.
ranks_per_node : int >= 1, or one for each node.
slices : int >= 1, pieces of each rank's chunk, which follow each other; None for 4.
groups : int that divides `nodes`, how many groups of consecutive nodes have a switch of their own; None for 1.
node_of_rank : sequence of int, the node of each rank; None where they are numbered node by node.
)";

constexpr const char* kReturnsSchedule = R"(
Returns
-------
Schedule
)";

constexpr const char* kReturnsParts = R"(
Returns
-------
ScheduleParts, of the same transfers, rank by rank, without making the whole schedule.
)";

constexpr const char* kNotesDoc = R"(
Raises
------
ArgumentError
    if a count is out of range, groups do not divide the nodes, node_of_rank says something else than the counts, or a
    schedule would have more than 2**28 transfers.

Notes
-----
n(n-1)·slices transfers, twice that for an all-reduce. On N nodes with K NICs every NIC sends and receives (N-1)/N·m/K bytes,
twice that for an all-reduce, and nothing is moved in memory at the end. Let X = (N-1)/N·m/(KB) be the NICs' time, and Y
= (M-1)/M·m/b that of one of M ranks inside its node. It takes about ⌈log2 N⌉·α + α inside + max(X, Y). [PCCL, §4.1]
runs its phases one after the other, X + Y, and needs a shuffle for want of places to receive into. Unequal nodes: their
ranks take turns with the chunks of those that they lack.)";

std::string document(const char* summary, const char* returns) {
  return std::string(summary) + kParametersDoc + returns + kNotesDoc;
}

/// A function that makes something of a layout and slices.
template <typename Make>
Function from_slices(const std::string& name, std::string doc, Make make) {
  return function(name,
                  {required("nodes"), required("ranks_per_node"), optional("slices"), optional("groups"),
                   keyword(optional("node_of_rank"))},
                  std::move(doc),
                  [name, make](int nodes, const Counts& ranks_per_node, std::optional<int> slices,
                               std::optional<int> groups, const NodeOfRank& node_of_rank) {
                    return make(layout_of(name, {nodes, ranks_per_node, node_of_rank}, groups.value_or(1)),
                                slices.value_or(kDefaultSlices));
                  });
}

Algorithm row(CollectiveKind kind, std::string_view name, std::string_view idea, const char* summary) {
  return {.name = name,
          .kind = kind,
          .paper = kPccl,
          .idea = idea,
          .sizes = "any nodes of any ranks",
          .chunks_formula = "",
          .steps_formula = "",
          .bytes_formula = "",
          .formula = "about ⌈log2 N⌉·α + α inside + max(X, Y) for X through a node's NICs and Y inside it",
          .needs = Needs::topology,
          .functions = {from_slices(std::string(name), document(summary, kReturnsSchedule),
                                    [kind](const NodeLayout& layout, int slices) {
                                      return hierarchical(kind, layout, slices);
                                    }),
                        from_slices(std::string(name) + "_parts", document(summary, kReturnsParts),
                                    [kind](const NodeLayout& layout, int slices) {
                                      return hierarchical_parts(kind, layout, slices);
                                    })},
          .why_not = why_no_nodes,
          .variants = variants};
}

}  // namespace

std::vector<LevelRound> level_rounds(int group_count, int nodes_per_group, int slices) {
  // With groups, chunks from afar are passed on two steps behind, and in the next round two steps later
  // again: the latency hides behind the slice between. Without groups a round begins once all slices have had
  // the one before.
  const int behind = std::min(slices, 2), stride = group_count == 1 ? slices : behind;
  std::vector<LevelRound> rounds;
  for (int far = 0; far <= doubling_rounds(group_count); ++far) {
    if (const int ahead = 1 << far; ahead < group_count)
      rounds.push_back({{ahead, 0}, 0, held_in_round(ahead, group_count), 1, far * slices});
    const int first_step = far == 0 ? 0 : (far - 1) * slices + behind;
    const Batch batch = batch_of(far, group_count);
    for (int near = 0; near < doubling_rounds(nodes_per_group); ++near)
      rounds.push_back({{0, 1 << near},
                        batch.begin,
                        batch.end,
                        held_in_round(1 << near, nodes_per_group),
                        first_step + near * stride});
  }
  return rounds;
}

Schedule hierarchical(CollectiveKind kind, const NodeLayout& layout, int slices) {
  const std::string name = checked_name(kind, slices);
  const Gather gather(layout, slices);
  return mirrored(name, {kind, gather.step_count()}, layout.rank_count(), slices,
                  [&](auto visit) { gather.for_each(visit); });
}

ScheduleParts hierarchical_parts(CollectiveKind kind, const NodeLayout& layout, int slices) {
  const std::string name = checked_name(kind, slices) + "_parts";
  Hasher hasher;
  hasher.add_bytes(std::as_bytes(std::span(name)));
  hasher.add_array(std::span<const int>(layout.node_of_rank()));
  hasher.add(static_cast<std::uint64_t>(layout.group_count()));
  hasher.add(static_cast<std::uint64_t>(slices));
  const auto part = [kind, layout, slices](Rank rank) {
    const Gather gather(layout, slices);
    const Mirror mirror{kind, gather.step_count()};
    std::vector<Transfer> own;
    gather.for_each_at(layout.node_of(rank), [&](const Transfer& copy) {
      if (copy.src != rank && copy.dst != rank) return;
      if (mirror.reduces()) own.push_back(mirror.backwards(copy));
      if (mirror.gathers()) own.push_back(mirror.forwards(copy));
    });
    std::ranges::sort(own, comes_before);
    return own;
  };
  return {Collective::make(kind, layout.rank_count(), std::int64_t{layout.rank_count()} * slices),
          {},
          part,
          hasher.finish()};
}

std::vector<Algorithm> hierarchical_algorithms() {
  return {
      row(CollectiveKind::all_gather, "all_gather_hierarchical",
          "Bruck's rounds between nodes on all NICs at once, in slices; what has come is handed on inside "
          "the nodes "
          "meanwhile.",
          "All-gather on nodes with several ranks, and on groups of them: farthest level first, all levels "
          "at once."),
      row(CollectiveKind::reduce_scatter, "reduce_scatter_hierarchical",
          "The hierarchical all-gather backwards: sums inside the nodes while others travel between them.",
          "Reduce-scatter on nodes with several ranks, and on groups of them: nearest level first, all "
          "levels at once."),
      row(CollectiveKind::all_reduce, "all_reduce_hierarchical",
          "The hierarchical reduce-scatter, then the all-gather, slice by slice.",
          "All-reduce on nodes with several ranks: the hierarchical reduce-scatter, then the all-gather."),
  };
}

}  // namespace hemiola::algorithms
