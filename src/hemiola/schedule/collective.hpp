// SPDX-License-Identifier: Apache-2.0
// The conditions that must hold before and after: the promise that a schedule keeps. `verify` reads nothing else.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola {

enum class CollectiveKind : std::uint8_t {
  all_gather,
  reduce_scatter,
  all_reduce,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  custom,  ///< any pre- and postcondition, see Collective::custom
};

std::string_view name_of(CollectiveKind kind);
/// Throws ArgumentError that lists the known names.
CollectiveKind kind_from_name(std::string_view name);
bool is_rooted(CollectiveKind kind);

/// Kind, rank count, chunk count, owner of each chunk, root.
///
/// | kind           | owner of a chunk           | a slot is defined before on | holds after                          |
/// |----------------|----------------------------|-----------------------------|--------------------------------------|
/// | all_gather     | the rank that brings it    | its owner                   | every rank: the owner's value        |
/// | reduce_scatter | the rank that gets it      | every rank: its own part    | its owner: all parts, once each      |
/// | all_reduce     | the rank that reduces it   | every rank: its own part    | every rank: all parts, once each     |
/// | broadcast      | the root                   | the root                    | every rank: the root's value         |
/// | reduce         | the root                   | every rank: its own part    | the root: all parts, once each       |
/// | all_to_all     | the rank that sends it     | its owner                   | its destination: the owner's value   |
/// | gather         | the rank that sends it     | its owner                   | the root: the owner's value          |
/// | scatter        | the rank that gets it      | the root                    | its owner: the root's value          |
/// | custom         | –                          | the pairs in `before`       | the pairs in `after`                 |
///
/// In an all_to_all, chunk (src * rank_count + dst) * k + j is the j-th piece of the data from src to dst;
/// its buffer is therefore rank_count times one rank's. In all other kinds a buffer holds every chunk once.
class Collective {
 public:
  using Place = std::pair<Rank, Chunk>;

  static constexpr int kMaxRanks = 1 << 20;
  static constexpr std::int64_t kMaxChunks = 1 << 28;

  /// Chunks are owned block-wise: chunk c belongs to rank c / (chunk_count / rank_count). `chunk_count` must
  /// be a multiple of rank_count (of its square for all_to_all) where ownership matters; broadcast and reduce
  /// take any count. Throws ArgumentError.
  static Collective make(CollectiveKind kind, int rank_count, std::int64_t chunk_count, Rank root = Rank{0});
  /// The same with a stated owner for each chunk. For broadcast and reduce every owner must be the root.
  static Collective with_owners(CollectiveKind kind, int rank_count, std::vector<Rank> owner,
                                Rank root = Rank{0});
  /// Any promise. With `reducing` false: copies of values from the places in `before` to those in `after`;
  /// each chunk must be defined somewhere. With `reducing`: every rank named in `before` contributes to the
  /// chunk, and each place in `after` receives all contributions once.
  static Collective custom(int rank_count, std::int64_t chunk_count, std::vector<Place> before,
                           std::vector<Place> after, bool reducing);

  CollectiveKind kind() const { return kind_; }
  int rank_count() const { return rank_count_; }
  int chunk_count() const { return chunk_count_; }
  Rank root() const { return root_; }
  /// One rank per chunk; empty for custom.
  const std::vector<Rank>& owner() const { return owner_; }
  Rank owner_of(Chunk chunk) const { return owner_[static_cast<std::size_t>(chunk)]; }
  /// Whether make(), given kind, counts and root, would give the same owners.
  bool has_block_owners() const;
  /// Where a chunk of an all_to_all must go.
  Rank destination_of(Chunk chunk) const;

  /// Whether values are added up (a `reduce` transfer is allowed).
  bool is_reducing() const { return reducing_; }
  /// Whether the rank's slot holds a value (its own part, when reducing) before the first step.
  bool defined_before(Rank rank, Chunk chunk) const;
  /// Whether the rank's slot must hold the result after the last step.
  bool wanted_after(Rank rank, Chunk chunk) const;

  /// Only for custom: sorted places.
  const std::vector<Place>& before() const { return before_; }
  const std::vector<Place>& after() const { return after_; }

  friend bool operator==(const Collective&, const Collective&) = default;

 private:
  Collective() = default;

  CollectiveKind kind_ = CollectiveKind::custom;
  int rank_count_ = 0;
  int chunk_count_ = 0;
  Rank root_{0};
  bool reducing_ = false;
  std::vector<Rank> owner_;
  std::vector<Place> before_, after_;
};

}  // namespace hemiola
