// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/streamed.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/base/huge_pages.hpp"
#include "hemiola/schedule/places.hpp"
#include "hemiola/schedule/routes.hpp"
#include "hemiola/simulate/setting.hpp"

namespace hemiola::simulation {
namespace {

/// When each slot holds its value; kNever: not yet.
class Slots {
 public:
  static constexpr Picoseconds kNever = -1;
  static constexpr Picoseconds kFromTheStart = 0;

  explicit Slots(const Collective& collective)
      : chunk_count_(static_cast<std::size_t>(collective.chunk_count())) {
    const std::size_t count = static_cast<std::size_t>(collective.rank_count()) * chunk_count_;
    held_at_.assign(count, kNever);
    const Places places(collective);
    for (Chunk chunk : indices<Chunk>(collective.chunk_count()))
      for (Rank rank : places.defined(chunk)) at(rank, static_cast<std::uint32_t>(chunk)) = kFromTheStart;
  }

  Picoseconds& at(Rank rank, std::uint32_t chunk) { return held_at_[index(rank, chunk)]; }
  void fetch_ahead(Rank rank, std::uint32_t chunk) const {
    __builtin_prefetch(&held_at_[index(rank, chunk)], 1);
  }

 private:
  std::size_t index(Rank rank, std::uint32_t chunk) const {
    return static_cast<std::size_t>(rank) * chunk_count_ + chunk;
  }

  std::size_t chunk_count_;
  LargeVector<Picoseconds> held_at_;
};

class StreamedNetwork {
 public:
  StreamedNetwork(const TransferSource& source, const Setting& setting)
      : source_(source), setting_(setting), slots_(source.collective()) {
    if (scratch_count_of(source.pairs()) > 0) fail("transfers without scratch slots, found some");
    const Topology& topology = setting.topology();
    const Routes routes = setting.routes(source.pairs());
    setting.check_durations(routes);
    for (std::uint32_t p = 0; p < routes.pair_count(); ++p) {
      const RankPair pair = source.pairs()[p];
      if (routes.hop_count(p) != 1)
        fail("ranks that share a link, found messages from rank " + std::to_string(pair.src) + " to rank " +
             std::to_string(pair.dst) + " over " + std::to_string(routes.hop_count(p)) + " links");
      const int link = routes.first_link(p);
      lanes_.push_back({pair, link, setting.ps_per_byte(link), setting.message(link), setting.latency(link),
                        setting.arrival(pair.src)});
    }
    for (Rank rank : indices<Rank>(topology.rank_count())) timeline_.finish.push_back(setting.arrival(rank));
    timeline_.link_busy.assign(static_cast<std::size_t>(topology.link_count()), 0);
  }

  Timeline run(const std::function<void(std::int64_t, std::int64_t)>& progress) {
    std::int64_t done = 0;
    source_.visit_blocks([&](const TransferBlock& block) {
      for (std::size_t i = 0; i < block.link.size(); ++i) {
        fetch_ahead(block, i + kAhead);
        if (block.reduces(i)) fail("copies, found a reduce in step " + std::to_string(block.step));
        send(block.step, &lanes_[block.link[i]], block.chunk[i]);
      }
      done += static_cast<std::int64_t>(block.link.size());
      if (progress) progress(done, source_.transfer_count());
    });
    for (const Lane& lane : lanes_) finish(lane.pair.src, lane.free_at);
    timeline_.duration = *std::max_element(timeline_.finish.begin(), timeline_.finish.end());
    return std::move(timeline_);
  }

 private:
  static constexpr std::size_t kAhead = 24;  ///< transfers whose slots are on their way from memory
  /// A link, for the one pair of ranks that it joins in this direction.
  struct Lane {
    RankPair pair;
    int link;
    double ps_per_byte;
    Picoseconds message;
    Picoseconds latency;
    Picoseconds free_at;
    int last_step = -1;
  };

  [[noreturn]] static void fail(const std::string& what) {
    throw ArgumentError("simulate: for a schedule that stays in its file expected " + what +
                        "; Schedule.load it to simulate it in memory");
  }

  void fetch_ahead(const TransferBlock& block, std::size_t i) const {
    if (i >= block.link.size()) return;
    const RankPair pair = lanes_[block.link[i]].pair;
    slots_.fetch_ahead(pair.src, block.chunk[i]);
    slots_.fetch_ahead(pair.dst, block.chunk[i]);
  }

  void send(Step step, Lane* lane, std::uint32_t chunk) {
    const double bytes = setting_.bytes(chunk);
    if (bytes == 0) return;
    if (lane->last_step == step)
      fail("at most one message per link and step, found more from rank " + std::to_string(lane->pair.src) +
           " to rank " + std::to_string(lane->pair.dst) + " in step " + std::to_string(step));
    lane->last_step = step;
    Picoseconds& landed = slots_.at(lane->pair.dst, chunk);
    if (landed != Slots::kNever)
      fail("no slot to be written over a value, found chunk " + std::to_string(chunk) + " on rank " +
           std::to_string(lane->pair.dst) + " in step " + std::to_string(step));
    const auto duration = lane->message + rounded_up(bytes * lane->ps_per_byte);
    lane->free_at = within_limit(std::max(lane->free_at, slots_.at(lane->pair.src, chunk)) + duration);
    timeline_.link_busy[static_cast<std::size_t>(lane->link)] += duration;
    landed = std::max(lane->free_at + lane->latency, setting_.arrival(lane->pair.dst));
    finish(lane->pair.dst, landed);
  }

  void finish(Rank rank, Picoseconds time) {
    Picoseconds& latest = timeline_.finish[static_cast<std::size_t>(rank)];
    latest = std::max(latest, time);
  }

  const TransferSource& source_;
  const Setting& setting_;
  Slots slots_;
  std::vector<Lane> lanes_;  ///< by the source's pairs
  Timeline timeline_;
};

}  // namespace
}  // namespace hemiola::simulation

namespace hemiola {

Timeline simulate_streamed(const TransferSource& source, std::span<const std::int64_t> chunk_weights,
                           const Topology& topology, std::int64_t bytes, const Conditions& conditions,
                           const std::function<void(std::int64_t, std::int64_t)>& progress) {
  const simulation::Setting setting(source.collective(), chunk_weights, topology, bytes, conditions);
  Timeline timeline = simulation::StreamedNetwork(source, setting).run(progress);
  if (setting.ways().are_joined()) timeline.link_busy = setting.ways().busy_apart(timeline.link_busy);
  return timeline;
}

}  // namespace hemiola
