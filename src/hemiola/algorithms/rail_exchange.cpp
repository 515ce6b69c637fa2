#include "hemiola/algorithms/rail_exchange.hpp"

#include <algorithm>
#include <string>

#include "hemiola/algorithms/ownership.hpp"
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

}  // namespace hemiola::algorithms
