// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/transform/concatenate.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/schedule/places.hpp"

namespace hemiola {
namespace {

std::string describe(const Collective& c) {
  return std::string(name_of(c.kind()));
}

void check_equal(std::int64_t first, std::int64_t second, const char* what) {
  if (first != second)
    throw ArgumentError("concatenate: expected schedules of the same " + std::string(what) + ", found " +
                        std::to_string(first) + " and " + std::to_string(second));
}

/// The second schedule must read the results of the first.
void check_continues(const Collective& first, const Collective& second) {
  if (second.is_reducing())
    throw ArgumentError("concatenate: expected a second schedule that only copies, found a " +
                        describe(second) + ", which would add up sums again");
  const Places left(first), taken(second);
  for (Chunk chunk : indices<Chunk>(first.chunk_count())) {
    const auto wanted = left.wanted(chunk);
    for (Rank rank : taken.defined(chunk))
      if (!std::binary_search(wanted.begin(), wanted.end(), rank))
        throw ArgumentError("concatenate: the " + describe(second) + " starts with chunk " +
                            std::to_string(chunk) + " on rank " + std::to_string(rank) + ", where the " +
                            describe(first) + " does not leave it; give both the same owners and root");
  }
}

std::vector<Collective::Place> list_places(const Collective& c, bool before) {
  const Places places(c);
  std::vector<Collective::Place> list;
  for (Chunk chunk : indices<Chunk>(c.chunk_count()))
    for (Rank rank : before ? places.defined(chunk) : places.wanted(chunk)) list.emplace_back(rank, chunk);
  return list;
}

/// The collective that promises the state before the first and after the second.
Collective join(const Collective& first, const Collective& second) {
  using Kind = CollectiveKind;
  const auto is = [&](Kind a, Kind b) { return first.kind() == a && second.kind() == b; };
  const auto make = [&](Kind kind, const Collective& owners, Rank root) {
    return Collective::with_owners(kind, first.rank_count(), owners.owner(), root);
  };
  if (is(Kind::reduce_scatter, Kind::all_gather)) return make(Kind::all_reduce, first, Rank{0});
  if (is(Kind::reduce, Kind::broadcast)) return make(Kind::all_reduce, first, Rank{0});
  if (is(Kind::reduce, Kind::scatter)) return make(Kind::reduce_scatter, second, Rank{0});
  if (is(Kind::gather, Kind::broadcast)) return make(Kind::all_gather, first, Rank{0});
  const auto make_rooted = [&](Kind kind, Rank root) {
    const auto chunks = static_cast<std::size_t>(first.chunk_count());
    return Collective::with_owners(kind, first.rank_count(), std::vector<Rank>(chunks, root), root);
  };
  if (is(Kind::reduce_scatter, Kind::gather)) return make_rooted(Kind::reduce, second.root());
  if (is(Kind::scatter, Kind::all_gather)) return make_rooted(Kind::broadcast, first.root());
  return Collective::custom(first.rank_count(), first.chunk_count(), list_places(first, true),
                            list_places(second, false), first.is_reducing());
}

}  // namespace

Schedule concatenate(const Schedule& first, const Schedule& second) {
  check_equal(first.rank_count(), second.rank_count(), "rank count");
  check_equal(first.chunk_count(), second.chunk_count(), "chunk count");
  if (first.chunk_weights() != second.chunk_weights())
    throw ArgumentError("concatenate: expected schedules of the same chunk weights");
  check_continues(first.collective(), second.collective());
  ScheduleBuilder builder(join(first.collective(), second.collective()));
  if (!first.chunk_weights().empty()) builder.set_chunk_weights(first.chunk_weights());
  builder.reserve(first.transfer_count() + second.transfer_count());
  first.for_each([&](const Transfer& t) { builder.add(t); });
  const int offset = first.step_count();
  second.for_each([&](Transfer t) {
    t.step = Step{offset + t.step};
    builder.add(t);
  });
  return builder.finish();
}

}  // namespace hemiola
