// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/late/late_finish.hpp"

namespace hemiola::algorithms {
namespace {

/// The distance from an owner to its receiver `age` rounds after the late rank has given it a chunk, 1 <= age < early. In
/// a round owners have different ages, so it is chosen for the receivers to differ: they are `distance - age` after the
/// owner that gets a chunk in this round.
int distance(int age, int early) {
  if (early % 2 == 1) return 2 * age % early;
  return age == early - 1 ? age : 2 * age % (early - 1);
}

}  // namespace

FinishTable direct_finish(int rank_count, int chunk_count) {
  const int early = rank_count - 1;
  const Rank late{early};
  FinishTable table{rank_count, {}, {}};
  table.rounds.resize(static_cast<std::size_t>(chunk_count + early));
  for (Chunk chunk : indices<Chunk>(chunk_count)) {
    const Rank owner{chunk % early};
    const auto round = [&](int age) -> std::vector<FinishMove>& {
      return table.rounds[static_cast<std::size_t>(chunk + age)];
    };
    table.owner.push_back(owner);
    round(0).push_back({late, owner, chunk, true});
    for (int age = 1; age < early; ++age)
      round(age).push_back({owner, Rank{(owner + distance(age, early)) % early}, chunk, false});
    round(early).push_back({owner, late, chunk, false});
  }
  return table;
}

}  // namespace hemiola::algorithms
