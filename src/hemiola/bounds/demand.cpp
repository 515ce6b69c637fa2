// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bounds/demand.hpp"

#include <algorithm>
#include <utility>

#include "hemiola/base/rounding.hpp"

namespace hemiola::bounds {
namespace {

/// Size of block `index` of `count` equal ones, as chunk_begins cuts them.
std::int64_t block_size(std::int64_t bytes, std::int64_t index, std::int64_t count) {
  return share_of(bytes, index + 1, count) - share_of(bytes, index, count);
}

/// The collective whose schedules are this one's backwards: each receive becomes a send.
CollectiveKind reversed(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return CollectiveKind::reduce_scatter;
    case CollectiveKind::reduce_scatter:
      return CollectiveKind::all_gather;
    case CollectiveKind::broadcast:
      return CollectiveKind::reduce;
    case CollectiveKind::reduce:
      return CollectiveKind::broadcast;
    case CollectiveKind::gather:
      return CollectiveKind::scatter;
    case CollectiveKind::scatter:
      return CollectiveKind::gather;
    case CollectiveKind::all_reduce:
    case CollectiveKind::all_to_all:
    case CollectiveKind::custom:
      break;
  }
  return kind;
}

}  // namespace

Demand::Demand(int rank_count, std::vector<std::int64_t> blocks)
    : kind_(CollectiveKind::all_to_all),
      rank_count_(rank_count),
      root_{0},
      bytes_(0),
      blocks_(std::move(blocks)),
      sent_(static_cast<std::size_t>(rank_count)),
      received_(sent_.size()) {
  for (Rank src : indices<Rank>(rank_count))
    for (Rank dst : indices<Rank>(rank_count)) {
      sent_[static_cast<std::size_t>(src)] += from_to(src, dst);
      received_[static_cast<std::size_t>(dst)] += from_to(src, dst);
    }
}

std::int64_t Demand::share_of(Rank rank) const {
  return block_size(bytes_, rank, rank_count_);
}

std::int64_t Demand::exchanged(Rank src, Rank dst) const {
  const std::int64_t n = rank_count_;
  if (has_block_sizes()) return blocks_[static_cast<std::size_t>(src * n + dst)];
  return block_size(bytes_ * n, src * n + dst, n * n);
}

std::int64_t Demand::from_to(Rank src, Rank dst) const {
  if (src == dst) return 0;
  switch (kind_) {
    case CollectiveKind::all_reduce:
      return bytes_;
    case CollectiveKind::all_gather:
      return share_of(src);
    case CollectiveKind::reduce_scatter:
      return share_of(dst);
    case CollectiveKind::broadcast:
      return src == root_ ? bytes_ : 0;
    case CollectiveKind::reduce:
      return dst == root_ ? bytes_ : 0;
    case CollectiveKind::gather:
      return dst == root_ ? share_of(src) : 0;
    case CollectiveKind::scatter:
      return src == root_ ? share_of(dst) : 0;
    case CollectiveKind::all_to_all:
      return exchanged(src, dst);
    case CollectiveKind::custom:
      break;
  }
  return 0;
}

std::int64_t Demand::sent_by(CollectiveKind kind, Rank rank) const {
  if (rank_count_ == 1) return 0;
  const bool is_root = rank == root_;
  switch (kind) {
    case CollectiveKind::all_reduce:
      return bytes_;
    case CollectiveKind::all_gather:
      return share_of(rank);
    case CollectiveKind::reduce_scatter:
      return bytes_ - share_of(rank);
    case CollectiveKind::broadcast:
      return is_root ? bytes_ : 0;
    case CollectiveKind::reduce:
      return is_root ? 0 : bytes_;
    case CollectiveKind::gather:
      return is_root ? 0 : share_of(rank);
    case CollectiveKind::scatter:
      return is_root ? bytes_ - share_of(rank) : 0;
    case CollectiveKind::all_to_all:
      if (has_block_sizes()) return sent_[static_cast<std::size_t>(rank)];
      return (rank_count_ - 1) * (bytes_ / rank_count_);  // blocks differ by a byte; this is the least
    case CollectiveKind::custom:
      break;
  }
  return 0;
}

std::int64_t Demand::received_by(Rank rank) const {
  if (has_block_sizes()) return received_[static_cast<std::size_t>(rank)];
  return sent_by(reversed(kind_), rank);
}

std::int64_t Demand::moved_between_ranks() const {
  if (kind_ == CollectiveKind::all_reduce) return 2 * (rank_count_ - 1) * bytes_;
  // Of copies it is the receivers that count (one sender may serve many), of partial sums the senders.
  return std::max(sent_by_all(true), received_by_all(true));
}

std::int64_t Demand::sent_by_all(bool copies_in_switch) const {
  if (!copies_in_switch) return moved_between_ranks();
  std::int64_t sent = 0;
  for (Rank rank : indices<Rank>(rank_count_)) sent += sent_by(rank);
  return sent;
}

std::int64_t Demand::received_by_all(bool adds_in_switch) const {
  if (!adds_in_switch) return moved_between_ranks();
  std::int64_t received = 0;
  for (Rank rank : indices<Rank>(rank_count_)) received += received_by(rank);
  return received;
}

}  // namespace hemiola::bounds
