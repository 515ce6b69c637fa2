// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/host_shares.hpp"

#include <algorithm>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola::synthesis {
namespace {

/// Makes the transfers of a broadcast, or of the reduce that it is backwards, step by step, and in each by src, dst and
/// chunk.
class HostSharing {
 public:
  HostSharing(CollectiveKind kind, const HostShares& shares)
      : is_reduce_(kind == CollectiveKind::reduce),
        hosts_(shares.host_count),
        per_host_(shares.ranks_per_host),
        pieces_(shares.pieces),
        root_(shares.root),
        home_(shares.root / shares.ranks_per_host),
        builder_(Collective::make(kind, hosts_ * per_host_, std::int64_t{hosts_ - 1} * per_host_ * pieces_,
                                  shares.root)) {}

  Schedule operator()() {
    const std::int64_t ranks = std::int64_t{hosts_} * per_host_;
    builder_.reserve((ranks - per_host_) * pieces_ * (ranks - 1));
    // A piece is at the ranks of the root's host a step after it has left the root, and at the rank that
    // hands it on after two. But it is there only once all pieces of that rank's share have come, so that no
    // port waits for another.
    for (step_ = 0; step_ < step_count(); ++step_) {
      outward_ = is_reduce_ ? step_count() - 1 - step_ : step_;
      for (int host = 0; host < hosts_; ++host)
        for (int slice = 0; slice < per_host_; ++slice)
          for (int to = 0; to < hosts_; ++to) {
            if (to == host)
              within(host, slice);
            else
              across(host, slice, to);
          }
    }
    return builder_.finish();
  }

 private:
  /// Shares go to hosts, from these to each other, and to the ranks of a host, as far as there are others.
  int step_count() const {
    if (per_host_ > 1) return 2 * pieces_ + 2;
    return hosts_ > 2 ? 2 * pieces_ + 1 : pieces_ + 1;
  }
  bool is_piece(int piece) const { return 0 <= piece && piece < pieces_; }
  Rank rank_of(int host, int slice) const { return Rank{host * per_host_ + slice}; }
  /// Among the hosts that hand shares on.
  int relay_of(int host) const { return host < home_ ? host : host - 1; }
  Chunk chunk_of(int slice, int relay, int piece) const {
    return Chunk{(slice * (hosts_ - 1) + relay) * pieces_ + piece};
  }
  void add(Rank src, Rank dst, Chunk chunk) { builder_.add({Step{step_}, src, dst, chunk, is_reduce_}); }

  /// From the root's host to the one that hands a share on, and from there to all others.
  void across(int host, int slice, int to) {
    const int giver = is_reduce_ ? to : host, taker = is_reduce_ ? host : to;
    if (taker == home_) return;
    const int piece = giver == home_ ? outward_ - 1 : outward_ - pieces_ - 1;
    if (!is_piece(piece)) return;
    const int relay = relay_of(giver == home_ ? taker : giver);
    add(rank_of(host, slice), rank_of(to, slice), chunk_of(slice, relay, piece));
  }

  /// From the root to the others of its host, whole slices; and from every rank its slice to the others of its host.
  void within(int host, int slice) {
    for (int other = 0; other < per_host_; ++other) {
      if (other == slice) continue;
      const Rank src = rank_of(host, slice), dst = rank_of(host, other);
      const int giver = is_reduce_ ? other : slice, taker = is_reduce_ ? slice : other;
      const auto hand_out = [&] {
        if (rank_of(host, giver) == root_) whole_slice(src, dst, taker, outward_);
      };
      const auto spread = [&] {
        if (rank_of(host, taker) != root_) whole_slice(src, dst, giver, outward_ - pieces_ - 2);
      };
      if (taker < giver) {
        hand_out();
        spread();
      } else {
        spread();
        hand_out();
      }
    }
  }

  void whole_slice(Rank src, Rank dst, int slice, int piece) {
    if (!is_piece(piece)) return;
    for (int relay = 0; relay + 1 < hosts_; ++relay) add(src, dst, chunk_of(slice, relay, piece));
  }

  const bool is_reduce_;
  const int hosts_, per_host_, pieces_;
  const Rank root_;
  const int home_;
  int step_ = 0, outward_ = 0;  ///< outward_: the broadcast's step
  ScheduleBuilder builder_;
};

/// `what` is being made.
void check(const HostShares& shares, const std::string& what) {
  const std::int64_t ranks = std::int64_t{shares.host_count} * shares.ranks_per_host;
  if (shares.host_count < 2 || shares.ranks_per_host < 1 || shares.pieces < 1)
    throw ArgumentError(what + ": expected two hosts at least, with a rank each, and one piece, found " +
                        std::to_string(shares.host_count) + ", " + std::to_string(shares.ranks_per_host) +
                        " and " + std::to_string(shares.pieces));
  if (shares.root < 0 || shares.root >= ranks)
    throw ArgumentError(what + ": expected a root in 0 … " + std::to_string(ranks - 1) + ", found " +
                        std::to_string(shares.root));
}

}  // namespace

Schedule broadcast_through_hosts(const HostShares& shares) {
  check(shares, "broadcast_through_hosts");
  return HostSharing(CollectiveKind::broadcast, shares)();
}

Schedule reduce_through_hosts(const HostShares& shares) {
  check(shares, "reduce_through_hosts");
  return HostSharing(CollectiveKind::reduce, shares)();
}

}  // namespace hemiola::synthesis
