// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/slow/rail_exchange.hpp"

#include <algorithm>
#include <string>

#include "hemiola/algorithms/index/ownership.hpp"
#include "hemiola/algorithms/papers.hpp"
#include "hemiola/algorithms/slow/rail_segments.hpp"
#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

/// Adds the messages of one body; a chunk is (segment, rail, section of a host that owns one).
class Bodies {
 public:
  Bodies(const RailLayout& layout, const Sections& sections, int segments, ScheduleBuilder* builder)
      : layout_(layout), sections_(sections), segments_(segments), builder_(builder) {}

  void add(int body) {
    for (int round = 1; round < layout_.ranks_per_host; ++round) inside_hosts(body, round);
    for (int round = 1; round < layout_.host_count; ++round) between_hosts(body, round);
  }

 private:
  Step step(int body, int round) const {
    return Step{body * (std::max(layout_.host_count, layout_.ranks_per_host) - 1) + round - 1};
  }
  Rank rank(int host, int rail) const { return Rank{host * layout_.ranks_per_host + rail}; }
  Chunk chunk(int segment, int rail, int section) const {
    return Chunk{(segment * layout_.ranks_per_host + rail) * sections_.count() + section};
  }
  bool is_segment(int segment) const { return segment >= 0 && segment < segments_; }

  void inside_hosts(int body, int round) {
    for (int host = 0; host < layout_.host_count; ++host)
      for (int rail = 0; rail < layout_.ranks_per_host; ++rail) {
        const int peer = (rail + round) % layout_.ranks_per_host;
        for (int section = 0; section < sections_.count(); ++section) {
          if (is_segment(body))
            builder_->reduce(step(body, round), rank(host, rail), rank(host, peer),
                             chunk(body, peer, section));
          if (is_segment(body - 3))
            builder_->copy(step(body, round), rank(host, rail), rank(host, peer),
                           chunk(body - 3, rail, section));
        }
      }
  }

  void between_hosts(int body, int round) {
    for (int host = 0; host < layout_.host_count; ++host)
      for (int rail = 0; rail < layout_.ranks_per_host; ++rail) {
        const Rank peer{(host + round) % layout_.host_count};
        const Rank src = rank(host, rail), dst = rank(peer, rail);
        if (is_segment(body - 1) && sections_.owns(peer))
          builder_->reduce(step(body, round), src, dst, chunk(body - 1, rail, sections_.index_of(peer)));
        if (is_segment(body - 2) && sections_.owns(Rank{host}))
          builder_->copy(step(body, round), src, dst, chunk(body - 2, rail, sections_.index_of(Rank{host})));
      }
  }

  const RailLayout& layout_;
  const Sections& sections_;
  int segments_;
  ScheduleBuilder* builder_;
};

std::vector<Variant> variants(const Task& task) {
  const SlowHosts slow = slow_hosts(task);
  if (slow.factors.empty()) return {};
  const int hosts = task.rank_count / slow.ranks_per_host;
  const ExchangeLoad load = exchange_load(factors_of("slow_hosts", slow.factors, hosts));
  return {best_rail_variant(task, {load.time, hosts - 1, load.owners})};
}

constexpr const char* kDoc =
    R"(All-reduce for hosts with several ranks and one NIC each, some of them slow.

The weighted exchange over the hosts on every rail (ranks of equal place), with the reduce-scatter and all-gather inside
the hosts one segment ahead and one behind.

Parameters
----------
host_count : int >= 2.
ranks_per_host : int >= 1; rank = host * ranks_per_host + rail.
slow_hosts : mapping of host to float >= 1, the factors by which its ranks' NICs are slower.
segments : int >= 1, pieces the buffer is pipelined in.

Returns
-------
Schedule

Raises
------
ArgumentError
    if a host does not exist, a factor is below 1 or not finite, or a count is out of range.

Notes
-----
With g ranks a host, links inside that carry g - 1 times a NIC, and one host of factor l >= 2, bandwidth only:
[l(k+1) + 2]/(gk) · Nβ for k segments, less (h-2)/((h-1)(g-1)) · Nβ/(gk) that the last phase does ahead. [OptCC,
§4.4] states l(k+5.5)/(gk) and leaves several slow hosts open.)";

Function make_function() {
  return function(
      "all_reduce_rail_exchange",
      {required("host_count"), required("ranks_per_host"), required("slow_hosts"), required("segments")},
      kDoc, [](int host_count, int ranks_per_host, const Factors& slow_hosts, int segments) {
        const auto factors = factors_of("all_reduce_rail_exchange: slow_hosts", slow_hosts, host_count);
        return all_reduce_rail_exchange({host_count, ranks_per_host}, factors, segments);
      });
}

}  // namespace

Schedule all_reduce_rail_exchange(const RailLayout& layout, const std::vector<double>& slowdown,
                                  int segments) {
  if (layout.ranks_per_host < 1 || layout.ranks_per_host > (1 << 12))
    throw ArgumentError("all_reduce_rail_exchange: expected 1 … 4096 ranks per host, found " +
                        std::to_string(layout.ranks_per_host));
  check_slowdown("all_reduce_rail_exchange", layout.host_count, slowdown, segments);
  const Sections sections(ownership_weights(slowdown));
  std::vector<Rank> owner;
  std::vector<std::int64_t> weights;
  for (int segment = 0; segment < segments; ++segment)
    for (int rail = 0; rail < layout.ranks_per_host; ++rail)
      for (std::size_t section = 0; section < sections.owners.size(); ++section) {
        owner.push_back(Rank{sections.owners[section] * layout.ranks_per_host + rail});
        weights.push_back(sections.weight[section]);
      }
  ScheduleBuilder builder(Collective::with_owners(
      CollectiveKind::all_reduce, layout.host_count * layout.ranks_per_host, std::move(owner)));
  builder.set_chunk_weights(std::move(weights));
  Bodies bodies(layout, sections, segments, &builder);
  for (int body = 0; body < segments + 3; ++body) bodies.add(body);
  return builder.finish();
}

std::vector<Algorithm> rail_exchange_algorithms() {
  return {
      {.name = "all_reduce_rail_exchange",
       .kind = CollectiveKind::all_reduce,
       .paper = kOptcc,
       .idea =
           "The weighted exchange over hosts on every rail, phases inside the hosts one segment ahead and "
           "one behind.",
       .sizes = "q ≥ 2 hosts of g ranks",
       .chunks_formula = "",
       .steps_formula = "(max(q, g)-1)(K+3)",
       .bytes_formula = "",
       .formula = "(l(K+1)+2)/(gK)·N·β for one slow host of factor l ≥ 2, bandwidth only",
       .needs = Needs::slow,
       .functions = {make_function()},
       .why_not = why_no_rails,
       .variants = variants}};
}

}  // namespace hemiola::algorithms
