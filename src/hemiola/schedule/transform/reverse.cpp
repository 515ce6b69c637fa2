// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/transform/reverse.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/interrupt.hpp"
#include "hemiola/schedule/chunk_sorter.hpp"
#include "hemiola/schedule/places.hpp"

namespace hemiola {
namespace {

/// Throws unless `places` names each chunk at most once.
void check_single(const std::vector<Collective::Place>& places, int chunk_count, const std::string& what) {
  std::vector<bool> seen(static_cast<std::size_t>(chunk_count));
  for (const auto& [rank, chunk] : places) {
    if (seen[static_cast<std::size_t>(chunk)])
      throw ArgumentError("reverse: expected a custom collective in which each chunk is " + what +
                          " one rank; chunk " + std::to_string(chunk) + " is so on several");
    seen[static_cast<std::size_t>(chunk)] = true;
  }
}

Collective reverse_custom(const Collective& c) {
  if (c.is_reducing()) {
    check_single(c.after(), c.chunk_count(), "wanted on");
  } else {
    check_single(c.before(), c.chunk_count(), "defined on");
  }
  return Collective::custom(c.rank_count(), c.chunk_count(), c.after(), c.before(), !c.is_reducing());
}

Collective reverse_collective(const Collective& c) {
  const auto same_owners = [&](CollectiveKind kind) {
    return Collective::with_owners(kind, c.rank_count(), c.owner(), c.root());
  };
  switch (c.kind()) {
    case CollectiveKind::all_gather:
      return same_owners(CollectiveKind::reduce_scatter);
    case CollectiveKind::reduce_scatter:
      return same_owners(CollectiveKind::all_gather);
    case CollectiveKind::broadcast:
      return same_owners(CollectiveKind::reduce);
    case CollectiveKind::reduce:
      return same_owners(CollectiveKind::broadcast);
    case CollectiveKind::gather:
      return same_owners(CollectiveKind::scatter);
    case CollectiveKind::scatter:
      return same_owners(CollectiveKind::gather);
    case CollectiveKind::all_to_all:
      return c;
    case CollectiveKind::custom:
      return reverse_custom(c);
    case CollectiveKind::all_reduce:
      break;
  }
  throw ArgumentError("reverse: an all_reduce has no reverse; reverse its reduce_scatter and its all_gather");
}

/// In an all_to_all chunk (a, b, piece) takes the place of (b, a, piece); elsewhere a chunk stays the same.
Chunk reverse_chunk(const Collective& c, Chunk chunk) {
  if (c.kind() != CollectiveKind::all_to_all) return chunk;
  const int pieces = c.chunk_count() / (c.rank_count() * c.rank_count());
  return Chunk{(c.destination_of(chunk) * c.rank_count() + c.owner_of(chunk)) * pieces + chunk % pieces};
}

/// Finds the transfers of one chunk that have a reverse.
class UsefulTransfers {
 public:
  explicit UsefulTransfers(const Collective& collective)
      : collective_(collective),
        places_(collective),
        marked_(static_cast<std::size_t>(collective.rank_count())) {}

  std::vector<ChunkTransfer> of(Chunk chunk, std::span<const ChunkTransfer> transfers) {
    return live(chunk, collective_.is_reducing()
                           ? std::vector<ChunkTransfer>(transfers.begin(), transfers.end())
                           : first_deliveries(chunk, transfers));
  }

 private:
  void mark(Rank rank, bool to) { marked_[static_cast<std::size_t>(rank)] = to; }
  bool is_marked(Rank rank) const { return marked_[static_cast<std::size_t>(rank)]; }
  void clear_marks() { std::fill(marked_.begin(), marked_.end(), false); }

  /// Where all slots hold the one value of the chunk, only the first delivery to a rank matters.
  std::vector<ChunkTransfer> first_deliveries(Chunk chunk, std::span<const ChunkTransfer> transfers) {
    clear_marks();
    for (Rank rank : places_.defined(chunk)) mark(rank, true);
    std::vector<ChunkTransfer> kept;
    for (std::size_t begin = 0, end = 0; begin < transfers.size(); begin = end) {
      while (end < transfers.size() && transfers[end].step() == transfers[begin].step()) ++end;
      for (std::size_t i = begin; i < end; ++i)
        if (!is_marked(transfers[i].src())) fail_early(chunk, transfers[i]);
      for (std::size_t i = begin; i < end; ++i)
        if (!is_marked(transfers[i].dst())) {
          mark(transfers[i].dst(), true);
          kept.push_back(transfers[i]);
        }
    }
    return kept;
  }

  /// Backwards from the wanted slots: a transfer matters when the slot it writes does, and then the slot it
  /// reads does.
  std::vector<ChunkTransfer> live(Chunk chunk, const std::vector<ChunkTransfer>& transfers) {
    clear_marks();
    for (Rank rank : places_.wanted(chunk)) mark(rank, true);
    std::vector<ChunkTransfer> kept;
    for (std::size_t end = transfers.size(), begin = end; end > 0; end = begin) {
      while (begin > 0 && transfers[begin - 1].step() == transfers[end - 1].step()) --begin;
      const std::size_t first_kept = kept.size();
      for (std::size_t i = begin; i < end; ++i)
        if (is_marked(transfers[i].dst())) kept.push_back(transfers[i]);
      for (std::size_t i = first_kept; i < kept.size(); ++i)
        if (!kept[i].reduce()) mark(kept[i].dst(), false);
      for (std::size_t i = first_kept; i < kept.size(); ++i) mark(kept[i].src(), true);
    }
    return kept;
  }

  [[noreturn]] static void fail_early(Chunk chunk, const ChunkTransfer& t) {
    throw ArgumentError("reverse: step " + std::to_string(t.step()) + ": rank " + std::to_string(t.src()) +
                        " sends chunk " + std::to_string(chunk) +
                        ", which it does not hold; verify the schedule");
  }

  const Collective& collective_;
  const Places places_;
  std::vector<bool> marked_;
};

/// A relay that contributes nothing to a sum has nothing to add to: its first receipt must be a copy.
/// `transfers` are one chunk's, backwards in time.
void fill_relays(const Collective& backward, std::span<Transfer> transfers) {
  std::unordered_map<int, Step> filled;
  for (Transfer& t : transfers) {
    if (backward.defined_before(t.dst, t.chunk)) continue;
    const auto [entry, first] = filled.emplace(t.dst, t.step);
    if (!first && entry->second == t.step)
      throw ArgumentError("reverse: rank " + std::to_string(t.dst) + " contributes nothing to chunk " +
                          std::to_string(t.chunk) + " but would receive two parts of it in one step");
    t.reduce = !first;
  }
}

std::vector<std::int64_t> reverse_weights(const Schedule& schedule) {
  std::vector<std::int64_t> weights(schedule.chunk_weights().size());
  for (std::size_t c = 0; c < weights.size(); ++c)
    weights[static_cast<std::size_t>(reverse_chunk(schedule.collective(), Chunk{c}))] =
        schedule.chunk_weights()[c];
  return weights;
}

/// The useful transfers turned round, each chunk's backwards in time; steps are those of the forward
/// schedule.
std::vector<Transfer> turn_round(const Schedule& schedule, const Collective& backward) {
  std::vector<Transfer> turned;
  UsefulTransfers useful(schedule.collective());
  const ScheduleSource source(schedule);
  ChunkRange all;
  ChunkSorter(source, std::numeric_limits<std::int64_t>::max()).load(0, &all);
  for (Chunk chunk : indices<Chunk>(schedule.chunk_count())) {
    const std::size_t begin = turned.size();
    heed_interrupt(schedule.rank_count() + static_cast<std::int64_t>(all.transfers_of(chunk).size()));
    for (const ChunkTransfer& t : useful.of(chunk, all.transfers_of(chunk)))
      turned.push_back(
          {t.step(), t.dst(), t.src(), reverse_chunk(schedule.collective(), chunk), backward.is_reducing()});
    if (backward.is_reducing()) fill_relays(backward, std::span(turned).subspan(begin));
  }
  return turned;
}

}  // namespace

Schedule reverse(const Schedule& schedule) {
  refuse_scratch(schedule, "reverse");
  const Collective backward = reverse_collective(schedule.collective());
  const std::vector<Transfer> turned = turn_round(schedule, backward);
  int last = 0;
  for (const Transfer& t : turned) last = std::max<int>(last, t.step);
  ScheduleBuilder builder(backward);
  if (!schedule.chunk_weights().empty()) builder.set_chunk_weights(reverse_weights(schedule));
  builder.reserve(static_cast<std::int64_t>(turned.size()));
  for (const Transfer& t : turned) builder.add({Step{last - t.step}, t.src, t.dst, t.chunk, t.reduce});
  return builder.finish();
}

}  // namespace hemiola
