// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/collective.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/heedful.hpp"
#include "hemiola/schedule/collective_names.hpp"

namespace hemiola {
namespace {

constexpr std::array<std::string_view, 9> kNames{"all_gather", "reduce_scatter", "all_reduce",
                                                 "broadcast",  "reduce",         "all_to_all",
                                                 "gather",     "scatter",        "custom"};

void check_counts(int rank_count, std::int64_t chunk_count) {
  if (rank_count < 1 || rank_count > Collective::kMaxRanks)
    throw ArgumentError("collective: expected 1 … " + std::to_string(Collective::kMaxRanks) +
                        " ranks, found " + std::to_string(rank_count));
  if (chunk_count < 1 || chunk_count > Collective::kMaxChunks)
    throw ArgumentError("collective: expected 1 … " + std::to_string(Collective::kMaxChunks) +
                        " chunks, found " + std::to_string(chunk_count));
}

void check_rank(Rank rank, int rank_count, const std::string& what) {
  if (rank < 0 || rank >= rank_count)
    throw ArgumentError("collective: expected " + what + " in 0 … " + std::to_string(rank_count - 1) +
                        ", found " + std::to_string(rank));
}

void check_places(std::vector<Collective::Place>* places, int rank_count, int chunk_count,
                  const std::string& what) {
  for (const auto& [rank, chunk] : *places) {
    check_rank(rank, rank_count, "a rank (" + what + ")");
    if (chunk < 0 || chunk >= chunk_count)
      throw ArgumentError("collective: expected a chunk (" + what + ") in 0 … " +
                          std::to_string(chunk_count - 1) + ", found " + std::to_string(chunk));
  }
  std::sort(places->begin(), places->end());
  places->erase(std::unique(places->begin(), places->end()), places->end());
}

}  // namespace

std::string_view name_of(CollectiveKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

CollectiveKind kind_from_name(std::string_view name) {
  for (std::size_t k = 0; k < kNames.size(); ++k)
    if (kNames[k] == name) return static_cast<CollectiveKind>(k);
  std::string known;
  for (std::string_view n : kNames) known += (known.empty() ? "" : ", ") + std::string(n);
  const std::string_view meant = kind_meant(name);
  throw ArgumentError("expected a collective (" + known + "), found '" + std::string(name.substr(0, 60)) +
                      "'" + (meant.empty() ? "" : "; did you mean '" + std::string(meant) + "'?"));
}

bool is_rooted(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce ||
         kind == CollectiveKind::gather || kind == CollectiveKind::scatter;
}

Collective Collective::make(CollectiveKind kind, int rank_count, std::int64_t chunk_count, Rank root) {
  check_counts(rank_count, chunk_count);
  const bool all_root = kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce;
  std::int64_t blocks = rank_count;
  if (kind == CollectiveKind::all_to_all) blocks *= rank_count;
  if (!all_root && chunk_count % blocks != 0)
    throw ArgumentError("collective " + std::string(name_of(kind)) +
                        ": expected a chunk count that is a multiple of " + std::to_string(blocks) +
                        ", found " + std::to_string(chunk_count));
  std::vector<Rank> owner;
  heedful_resize(&owner, static_cast<std::size_t>(chunk_count), root);
  if (!all_root)
    for_heedful_blocks(chunk_count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c)
        owner[static_cast<std::size_t>(c)] = Rank{c / (chunk_count / rank_count)};
    });
  return with_owners(kind, rank_count, std::move(owner), root);
}

Collective Collective::with_owners(CollectiveKind kind, int rank_count, std::vector<Rank> owner, Rank root) {
  check_counts(rank_count, static_cast<std::int64_t>(owner.size()));
  if (kind == CollectiveKind::custom) throw ArgumentError("collective: use custom() for a custom collective");
  check_rank(root, rank_count, "a root");
  Collective c;
  c.kind_ = kind;
  c.rank_count_ = rank_count;
  c.chunk_count_ = static_cast<int>(owner.size());
  c.root_ = is_rooted(kind) ? root : Rank{0};
  c.reducing_ = kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_reduce ||
                kind == CollectiveKind::reduce;
  for_heedful_blocks(owner.size(), [&](std::size_t begin, std::size_t end) {
    for (const Rank rank : std::span(owner).subspan(begin, end - begin)) {
      check_rank(rank, rank_count, "an owner");
      if ((kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce) && rank != root)
        throw ArgumentError("collective " + std::string(name_of(kind)) +
                            ": expected every owner to be the root " + std::to_string(root) + ", found " +
                            std::to_string(rank));
    }
  });
  c.owner_ = std::move(owner);
  if (kind == CollectiveKind::all_to_all) {
    const std::int64_t pairs = static_cast<std::int64_t>(rank_count) * rank_count;
    if (c.chunk_count_ % pairs != 0)
      throw ArgumentError("collective all_to_all: expected a chunk count that is a multiple of " +
                          std::to_string(pairs) + ", found " + std::to_string(c.chunk_count_));
    for_heedful_blocks(c.chunk_count_, [&](int begin, int end) {
      for (Chunk chunk{begin}; chunk < end; ++chunk)
        if (c.owner_of(chunk) != chunk / (c.chunk_count_ / rank_count))
          throw ArgumentError("collective all_to_all: chunk " + std::to_string(chunk) + " belongs to rank " +
                              std::to_string(chunk / (c.chunk_count_ / rank_count)) + ", found owner " +
                              std::to_string(c.owner_of(chunk)));
    });
  }
  return c;
}

Collective Collective::custom(int rank_count, std::int64_t chunk_count, std::vector<Place> before,
                              std::vector<Place> after, bool reducing) {
  check_counts(rank_count, chunk_count);
  Collective c;
  c.rank_count_ = rank_count;
  c.chunk_count_ = static_cast<int>(chunk_count);
  c.reducing_ = reducing;
  c.before_ = std::move(before);
  c.after_ = std::move(after);
  check_places(&c.before_, rank_count, c.chunk_count_, "before");
  check_places(&c.after_, rank_count, c.chunk_count_, "after");
  std::vector<bool> defined(static_cast<std::size_t>(chunk_count));
  for (const auto& [rank, chunk] : c.before_) defined[static_cast<std::size_t>(chunk)] = true;
  for (const auto& [rank, chunk] : c.after_)
    if (!defined[static_cast<std::size_t>(chunk)])
      throw ArgumentError("collective: chunk " + std::to_string(chunk) + " is wanted on rank " +
                          std::to_string(rank) + " but no rank holds it before");
  return c;
}

bool Collective::has_block_owners() const {
  if (kind_ == CollectiveKind::custom) return false;
  if (kind_ == CollectiveKind::broadcast || kind_ == CollectiveKind::reduce ||
      kind_ == CollectiveKind::all_to_all)
    return true;  // with_owners admits no others
  return chunk_count_ % rank_count_ == 0 && *this == make(kind_, rank_count_, chunk_count_, root_);
}

Rank Collective::destination_of(Chunk chunk) const {
  const int pieces = chunk_count_ / (rank_count_ * rank_count_);
  return Rank{chunk / pieces % rank_count_};
}

bool Collective::defined_before(Rank rank, Chunk chunk) const {
  switch (kind_) {
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
    case CollectiveKind::gather:
      return owner_of(chunk) == rank;
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
      return rank == root_;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce:
      return true;
    case CollectiveKind::custom:
      break;
  }
  return std::binary_search(before_.begin(), before_.end(), Place{rank, chunk});
}

bool Collective::wanted_after(Rank rank, Chunk chunk) const {
  switch (kind_) {
    case CollectiveKind::all_gather:
    case CollectiveKind::all_reduce:
    case CollectiveKind::broadcast:
      return true;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::scatter:
      return owner_of(chunk) == rank;
    case CollectiveKind::reduce:
    case CollectiveKind::gather:
      return rank == root_;
    case CollectiveKind::all_to_all:
      return destination_of(chunk) == rank;
    case CollectiveKind::custom:
      break;
  }
  return std::binary_search(after_.begin(), after_.end(), Place{rank, chunk});
}

}  // namespace hemiola
