// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/step_estimate.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "hemiola/base/interrupt.hpp"
#include "hemiola/schedule/routes.hpp"
#include "hemiola/simulate/link_turns.hpp"
#include "hemiola/simulate/setting.hpp"
#include "hemiola/simulate/slot_numbers.hpp"

namespace hemiola {
namespace {

using simulation::TransferId;

/// Small operations of a transfer for each link of its way.
constexpr std::int64_t kPerLink = 5;

/// The same for each shared link that its own ones are joined to by flows: where these all end at times of their own, each
/// end changes rates far away. Measured on random graphs of 60 to 495 ranks, one flow a rank.
constexpr double kShareOfJoined = 0.06;

/// What the transfers of one step bring upon the links.
class StepLoad {
 public:
  StepLoad(const simulation::Setting& setting, const Routes& routes, std::span<const RankPair> pairs)
      : setting_(setting),
        routes_(routes),
        message_of_(first_of_same_ranks(pairs)),
        links_(static_cast<std::size_t>(setting.topology().link_count())),
        latency_(routes.pair_count()),
        last_step_(routes.pair_count(), ~std::size_t{0}) {
    for (std::uint32_t pair = 0; pair < routes.pair_count(); ++pair)
      for (int link : routes.path(pair)) latency_[pair] += setting.latency(link);
  }

  void add(std::size_t step, std::uint32_t pair, double bytes) {
    const bool begins_message = std::exchange(last_step_[message_of_[pair]], step) != step;
    longest_latency_ = std::max(longest_latency_, latency_[pair]);
    const auto path = routes_.path(pair);
    if (!path.empty()) ++flows_;
    for (int l : path) {
      Link& link = links_[static_cast<std::size_t>(l)];
      if (link.flows == 0) {
        used_.push_back(l);
        link.joined = l;
      }
      join(l, path.front());
      ++link.flows;
      if (begins_message && l == path.front()) ++link.messages;
      link.busy += bytes * setting_.ps_per_byte(l);
      if (begins_message) link.busy += static_cast<double>(setting_.message(l));
    }
  }

  /// Adds the step to what was before, and forgets it.
  void end(double* duration, double* work) {
    double longest = 0, shared = 0, joined = 0;
    for (int l : used_) {
      const Link& link = links_[static_cast<std::size_t>(l)];
      longest = std::max(longest, link.busy);
      if (link.flows > 1) shared += link.flows * link.flows;
      Link& all = links_[static_cast<std::size_t>(root(l))];
      all.joined_shared += link.flows > 1 ? 1 : 0;
      all.joined_flows += link.messages;
    }
    for (int l : used_) {
      Link& link = links_[static_cast<std::size_t>(l)];
      joined += link.joined_shared * link.joined_flows;
      link = {};
    }
    *duration += longest + static_cast<double>(longest_latency_);
    *work += flows_ + std::max(kShareOfWork * shared, kShareOfJoined * joined);
    used_.clear();
    longest_latency_ = 0;
    flows_ = 0;
  }

 private:
  struct Link {
    double flows = 0;
    double busy = 0;
    double messages = 0;  ///< that begin here
    int joined = 0;       ///< another link that flows of this step join it to, or itself
    double joined_shared = 0, joined_flows = 0;  ///< of all that are joined, at the last of them
  };

  int root(int link) {
    while (true) {
      int& next = links_[static_cast<std::size_t>(link)].joined;
      if (next == link) return link;
      next = links_[static_cast<std::size_t>(next)].joined;
      link = next;
    }
  }
  void join(int a, int b) { links_[static_cast<std::size_t>(root(a))].joined = root(b); }

  const simulation::Setting& setting_;
  const Routes& routes_;
  std::vector<std::uint32_t> message_of_;  ///< by pair: all between the same ranks are one message of a step
  std::vector<Link> links_;
  std::vector<int> used_;
  std::vector<Picoseconds> latency_;  ///< by pair
  std::vector<std::size_t> last_step_;
  Picoseconds longest_latency_ = 0;
  double flows_ = 0;
};

/// Transfers one after the other, in the schedule's order: each begins when its slot is there, what it waits for has
/// landed, and its whole way is free.
class InOrder {
 public:
  InOrder(const Schedule& schedule, const simulation::Setting& setting, const Routes& routes)
      : schedule_(schedule),
        setting_(setting),
        routes_(routes),
        slots_(schedule),
        is_free_(static_cast<std::size_t>(setting.topology().link_count())) {}

  void send(std::size_t step, TransferId t) {
    const std::uint32_t pair = schedule_.link()[t];
    heed_interrupt(kPerLink * static_cast<std::int64_t>(routes_.path(pair).size()));
    const RankPair ends = schedule_.pair_of(t);
    const Chunk chunk{static_cast<std::int32_t>(schedule_.chunk()[t])};
    const double bytes = setting_.bytes(schedule_.chunk()[t]);
    double begin = static_cast<double>(std::max(setting_.arrival(ends.src), setting_.arrival(ends.dst)));
    const double ready = slot(ends.src, ends.src_slot, chunk).ready_before(step);
    waits_ = waits_ || ready > 0;
    begin = std::max(begin, ready);
    double slowest = 0, latency = 0;
    for (int link : routes_.path(pair)) {
      begin = std::max(begin, is_free_[static_cast<std::size_t>(link)]);
      slowest =
          std::max(slowest, bytes * setting_.ps_per_byte(link) + static_cast<double>(setting_.message(link)));
      latency += static_cast<double>(setting_.latency(link));
    }
    for (int link : routes_.path(pair)) is_free_[static_cast<std::size_t>(link)] = begin + slowest;
    slot(ends.dst, ends.dst_slot, chunk).land(step, begin + slowest + latency);
    end_ = std::max(end_, begin + slowest + latency);
  }
  double end() const { return end_; }
  /// Whether a transfer waited for what another brought.
  bool waits() const { return waits_; }

 private:
  /// What has landed in steps before the latest one that wrote, and in that one.
  struct Slot {
    double before = 0, latest = 0;
    std::size_t step = 0;
    double ready_before(std::size_t reading) const {
      return step < reading ? std::max(before, latest) : before;
    }
    void land(std::size_t writing, double time) {
      if (step < writing) before = std::max(before, latest);
      latest = step < writing ? time : std::max(latest, time);
      step = writing;
    }
  };
  Slot& slot(Rank rank, std::int32_t which, Chunk chunk) {
    const std::size_t number = slots_.of(rank, which, chunk);
    if (number >= landed_.size()) landed_.resize(std::max(slots_.count(), number + 1));
    return landed_[number];
  }

  const Schedule& schedule_;
  const simulation::Setting& setting_;
  const Routes& routes_;
  simulation::SlotNumbers slots_;
  std::vector<Slot> landed_;
  std::vector<double> is_free_;  ///< by link, when
  double end_ = 0;
  bool waits_ = false;
};

}  // namespace

StepEstimate estimate_by_steps(const Schedule& schedule, const Topology& topology, std::int64_t bytes,
                               const Conditions& conditions) {
  const simulation::Setting setting(schedule.collective(), schedule.chunk_weights(), topology, bytes,
                                    conditions);
  const Routes routes = setting.routes(schedule.pairs());
  StepLoad load(setting, routes, schedule.pairs());
  InOrder in_order(schedule, setting, routes);
  simulation::LinkTurns turns(setting, routes);
  double duration = 0, work = 0;
  for (Rank rank : indices<Rank>(topology.rank_count()))
    duration = std::max(duration, static_cast<double>(setting.arrival(rank)));
  const bool in_turns = duration == 0;  // it says nothing of late ranks
  for (std::size_t s = 0; s + 1 < schedule.step_offset().size(); ++s) {
    for (auto t = static_cast<std::size_t>(schedule.step_offset()[s]);
         t < static_cast<std::size_t>(schedule.step_offset()[s + 1]); ++t)
      if (const double chunk_bytes = setting.bytes(schedule.chunk()[t]); chunk_bytes > 0) {
        load.add(s, schedule.link()[t], chunk_bytes);
        in_order.send(s + 1, static_cast<TransferId>(t));
        if (in_turns && !in_order.waits()) turns.add(schedule.link()[t], chunk_bytes);
      }
    load.end(&duration, &work);
    turns.end_step();
  }
  duration = std::min(duration, in_order.end());
  if (in_turns && !in_order.waits()) duration = std::min(duration, turns.end());
  return {static_cast<Picoseconds>(simulation::within_limit(duration)), work};
}

}  // namespace hemiola
