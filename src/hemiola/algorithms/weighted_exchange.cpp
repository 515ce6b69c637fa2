#include "hemiola/algorithms/weighted_exchange.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "hemiola/algorithms/ownership.hpp"
#include "hemiola/base/error.hpp"

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

void check_rank(const std::string& what, Rank rank, int rank_count) {
  if (rank < 0 || rank >= rank_count)
    throw ArgumentError(what + " in 0 … " + std::to_string(rank_count - 1) + ", found " +
                        std::to_string(rank));
}

/// The messages of an exchange: in each round, one from every rank to the rank so many places ahead.
struct Exchange {
  int rank_count;
  int segments;
  Sections sections;

  Exchange(int ranks, int segment_count, const std::vector<std::int64_t>& weight_of_rank)
      : rank_count(ranks), segments(segment_count), sections(weight_of_rank) {}

  int rounds() const { return rank_count - 1; }
  int bodies() const { return segments + 1; }
  Step step(int body, int round) const { return Step{body * rounds() + round - 1}; }
  Rank ahead(Rank rank, int round) const { return Rank{(rank + round) % rank_count}; }
  Rank behind(Rank rank, int round) const { return Rank{(rank + rank_count - round) % rank_count}; }
  Chunk chunk(int segment, Rank owner) const {
    return Chunk{segment * sections.count() + sections.index_of(owner)};
  }

  /// Calls add(Transfer) for what `src` sends in that round of an all-reduce, by chunk.
  template <typename Add>
  void all_reduce_message(int body, int round, Rank src, Add add) const {
    const Rank dst = ahead(src, round);
    const Step at = step(body, round);
    if (body > 0 && sections.owns(src)) add(Transfer{at, src, dst, chunk(body - 1, src), false});
    if (body < segments && sections.owns(dst)) add(Transfer{at, src, dst, chunk(body, dst), true});
  }

  /// All of a rank's messages in an all-reduce: in each round the one it sends and the one it receives, by sender.
  std::vector<Transfer> all_reduce_part(Rank rank) const {
    check_rank("all_reduce_weighted_exchange: expected rank", rank, rank_count);
    std::vector<Transfer> part;
    part.reserve(4 * static_cast<std::size_t>(bodies()) * static_cast<std::size_t>(rounds()));
    const auto add = [&](const Transfer& t) { part.push_back(t); };
    for (int body = 0; body < bodies(); ++body)
      for (int round = 1; round <= rounds(); ++round) {
        const Rank sender = behind(rank, round);
        all_reduce_message(body, round, std::min(sender, rank), add);
        all_reduce_message(body, round, std::max(sender, rank), add);
      }
    return part;
  }

  Collective collective(CollectiveKind kind, Rank root = Rank{0}) const {
    auto owners = per_segment(sections.owners, segments);
    if (is_rooted(kind)) owners.assign(owners.size(), root);
    return Collective::with_owners(kind, rank_count, std::move(owners), root);
  }
  ScheduleBuilder builder(CollectiveKind kind, Rank root = Rank{0}) const {
    ScheduleBuilder made(collective(kind, root));
    made.set_chunk_weights(per_segment(sections.weight, segments));
    return made;
  }
};

Exchange checked_exchange(const char* algorithm, int rank_count, const std::vector<double>& slowdown,
                          int segments) {
  check_slowdown(algorithm, rank_count, slowdown, segments);
  return {rank_count, segments, ownership_weights(slowdown)};
}

}  // namespace

Schedule all_reduce_weighted_exchange(int rank_count, const std::vector<double>& slowdown, int segments) {
  const Exchange exchange = checked_exchange("all_reduce_weighted_exchange", rank_count, slowdown, segments);
  ScheduleBuilder builder = exchange.builder(CollectiveKind::all_reduce);
  for (int body = 0; body < exchange.bodies(); ++body)
    for (int round = 1; round <= exchange.rounds(); ++round)
      for (Rank src : indices<Rank>(rank_count))
        exchange.all_reduce_message(body, round, src, [&](const Transfer& t) { builder.add(t); });
  return builder.finish();
}

ScheduleParts all_reduce_weighted_exchange_parts(int rank_count, const std::vector<double>& slowdown,
                                                 int segments) {
  const char* const where = "all_reduce_weighted_exchange_parts";
  Exchange exchange = checked_exchange(where, rank_count, slowdown, segments);
  Hasher hasher;
  hasher.add_bytes(std::as_bytes(std::span(where, std::strlen(where))));
  for (const int number : {rank_count, segments}) hasher.add(static_cast<std::uint64_t>(number));
  hasher.add_array(std::span<const std::int64_t>(exchange.sections.weight));
  hasher.add_bytes(std::as_bytes(std::span(exchange.sections.owners)));
  Collective collective = exchange.collective(CollectiveKind::all_reduce);
  auto weights = per_segment(exchange.sections.weight, segments);
  return {std::move(collective), std::move(weights),
          [exchange = std::move(exchange)](Rank rank) { return exchange.all_reduce_part(rank); },
          hasher.finish()};
}

Schedule reduce_scatter_weighted_exchange(int rank_count, const std::vector<double>& slowdown) {
  const Exchange exchange = checked_exchange("reduce_scatter_weighted_exchange", rank_count, slowdown, 1);
  ScheduleBuilder builder = exchange.builder(CollectiveKind::reduce_scatter);
  for (int round = 1; round <= exchange.rounds(); ++round)
    for (Rank src : indices<Rank>(rank_count))
      if (const Rank dst = exchange.ahead(src, round); exchange.sections.owns(dst))
        builder.reduce(exchange.step(0, round), src, dst, exchange.chunk(0, dst));
  return builder.finish();
}

Schedule all_gather_weighted_exchange(int rank_count, const std::vector<double>& slowdown) {
  const Exchange exchange = checked_exchange("all_gather_weighted_exchange", rank_count, slowdown, 1);
  ScheduleBuilder builder = exchange.builder(CollectiveKind::all_gather);
  for (int round = 1; round <= exchange.rounds(); ++round)
    for (Rank src : exchange.sections.owners)
      builder.copy(exchange.step(0, round), src, exchange.ahead(src, round), exchange.chunk(0, src));
  return builder.finish();
}

Schedule broadcast_weighted_exchange(int rank_count, const std::vector<double>& slowdown, int segments,
                                     Rank root) {
  const std::string where = "broadcast_weighted_exchange";
  check_slowdown(where, rank_count, slowdown, segments);
  check_rank(where + ": expected root", root, rank_count);
  // The root sends every section already; handing one out as well would make its port the last to finish.
  std::vector<std::int64_t> weight = ownership_weights(slowdown);
  weight[static_cast<std::size_t>(root)] = 0;
  if (std::all_of(weight.begin(), weight.end(), [](std::int64_t w) { return w == 0; }))
    for (Rank rank : indices<Rank>(rank_count)) weight[static_cast<std::size_t>(rank)] = rank != root;
  const Exchange exchange(rank_count, segments, weight);
  ScheduleBuilder builder = exchange.builder(CollectiveKind::broadcast, root);
  for (int body = 0; body < exchange.bodies(); ++body)
    for (int round = 1; round <= exchange.rounds(); ++round) {
      const Step step = exchange.step(body, round);
      if (const Rank dst = exchange.ahead(root, round); body < segments && exchange.sections.owns(dst))
        builder.copy(step, root, dst, exchange.chunk(body, dst));
      for (Rank src : exchange.sections.owners)
        if (const Rank dst = exchange.ahead(src, round); body > 0 && dst != root)
          builder.copy(step, src, dst, exchange.chunk(body - 1, src));
    }
  return builder.finish();
}

int best_segment_count(int rank_count, const std::vector<double>& slowdown, double relative_latency) {
  check_slowdown("best_segment_count", rank_count, slowdown, 1);
  if (!std::isfinite(relative_latency) || relative_latency <= 0)
    throw ArgumentError("best_segment_count: expected a finite relative_latency > 0, found " +
                        std::to_string(relative_latency));
  const auto [fastest, slowest] = std::minmax_element(slowdown.begin(), slowdown.end());
  const double l = *slowest / *fastest;
  double spare = 0;  // ports of healthy ranks' worth that bodies of both halves have to give
  for (const double factor : slowdown) spare += std::max(0.0, 2 * *fastest / factor - 1);
  const double rounds = rank_count - 1;
  const double bound = std::max(l, 2 * rounds / spare);
  const double k = std::sqrt(bound * std::min(1.0, l - 1) / (rounds * relative_latency));
  return static_cast<int>(std::clamp(std::round(k), 1.0, 4096.0));
}

}  // namespace hemiola::algorithms
