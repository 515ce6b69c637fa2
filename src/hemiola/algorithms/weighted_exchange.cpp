#include "hemiola/algorithms/weighted_exchange.hpp"

#include "hemiola/algorithms/ownership.hpp"

namespace hemiola::algorithms {
namespace {

/// Repeats one segment's column for every segment.
template <typename T>
std::vector<T> per_segment(const std::vector<T>& column, int segments) {
  std::vector<T> all;
  all.reserve(column.size() * static_cast<std::size_t>(segments));
  for (int segment = 0; segment < segments; ++segment) all.insert(all.end(), column.begin(), column.end());
  return all;
}

}  // namespace

Schedule all_reduce_weighted_exchange(int rank_count, const std::vector<double>& slowdown, int segments) {
  check_slowdown("all_reduce_weighted_exchange", rank_count, slowdown, segments);
  const Sections sections(ownership_weights(slowdown));
  ScheduleBuilder builder(Collective::with_owners(CollectiveKind::all_reduce, rank_count,
                                                  per_segment(sections.owners, segments)));
  builder.set_chunk_weights(per_segment(sections.weight, segments));
  const auto chunk = [&](int segment, Rank owner) {
    return Chunk{segment * sections.count() + sections.index_of(owner)};
  };
  const int rounds = rank_count - 1;
  for (int body = 0; body <= segments; ++body)
    for (int round = 1; round <= rounds; ++round)
      for (Rank src : indices<Rank>(rank_count)) {
        const Step step{body * rounds + round - 1};
        const Rank dst{(src + round) % rank_count};
        if (body < segments && sections.owns(dst)) builder.reduce(step, src, dst, chunk(body, dst));
        if (body > 0 && sections.owns(src)) builder.copy(step, src, dst, chunk(body - 1, src));
      }
  return builder.finish();
}

}  // namespace hemiola::algorithms
