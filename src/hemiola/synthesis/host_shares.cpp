#include "hemiola/synthesis/host_shares.hpp"

#include <algorithm>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola::synthesis {
namespace {

/// Makes the transfers step by step, and in each by src, dst and chunk.
class Making {
 public:
  explicit Making(const HostShares& shares)
      : hosts_(shares.host_count),
        per_host_(shares.ranks_per_host),
        pieces_(shares.pieces),
        root_(shares.root),
        home_(shares.root / shares.ranks_per_host),
        builder_(Collective::make(CollectiveKind::broadcast, hosts_ * per_host_,
                                  std::int64_t{hosts_ - 1} * per_host_ * pieces_, shares.root)) {}

  Schedule operator()() {
    const std::int64_t ranks = std::int64_t{hosts_} * per_host_;
    builder_.reserve((ranks - per_host_) * pieces_ * (ranks - 1));
    // A piece is at the ranks of the root's host a step after it has left the root, at the one that hands it on after
    // two, but there only once all pieces of that rank's share have come, so that no port waits for another.
    for (step_ = 0; step_ < 2 * pieces_ + 2; ++step_)
      for (int host = 0; host < hosts_; ++host)
        for (int slice = 0; slice < per_host_; ++slice)
          for (int to = 0; to < hosts_; ++to) {
            if (to == host)
              within(host, slice);
            else
              across(host, slice, to);
          }
    return builder_.finish();
  }

 private:
  bool is_piece(int piece) const { return 0 <= piece && piece < pieces_; }
  Rank rank_of(int host, int slice) const { return Rank{host * per_host_ + slice}; }
  /// Among the hosts that hand shares on.
  int relay_of(int host) const { return host < home_ ? host : host - 1; }
  Chunk chunk_of(int slice, int relay, int piece) const {
    return Chunk{(slice * (hosts_ - 1) + relay) * pieces_ + piece};
  }

  /// From the root's host to the one that hands a share on, and from there to all others.
  void across(int host, int slice, int to) {
    if (to == home_) return;
    const int piece = host == home_ ? step_ - 1 : step_ - pieces_ - 1;
    if (!is_piece(piece)) return;
    const int relay = relay_of(host == home_ ? to : host);
    builder_.copy(Step{step_}, rank_of(host, slice), rank_of(to, slice), chunk_of(slice, relay, piece));
  }

  /// From the root to the others of its host, whole slices; and from every rank its slice to the others of its host.
  void within(int host, int slice) {
    const Rank src = rank_of(host, slice);
    for (int other = 0; other < per_host_; ++other) {
      if (other == slice) continue;
      const Rank dst = rank_of(host, other);
      const auto hand_out = [&] {
        if (src == root_) whole_slice(src, dst, other, step_);
      };
      const auto spread = [&] {
        if (dst != root_) whole_slice(src, dst, slice, step_ - pieces_ - 2);
      };
      if (other < slice) {
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
    for (int relay = 0; relay + 1 < hosts_; ++relay)
      builder_.copy(Step{step_}, src, dst, chunk_of(slice, relay, piece));
  }

  const int hosts_, per_host_, pieces_;
  const Rank root_;
  const int home_;
  int step_ = 0;
  ScheduleBuilder builder_;
};

}  // namespace

Schedule broadcast_through_hosts(const HostShares& shares) {
  const std::int64_t ranks = std::int64_t{shares.host_count} * shares.ranks_per_host;
  if (shares.host_count < 2 || shares.ranks_per_host < 1 || shares.pieces < 1)
    throw ArgumentError(
        "broadcast_through_hosts: expected two hosts at least, with a rank each, and one piece, found " +
        std::to_string(shares.host_count) + ", " + std::to_string(shares.ranks_per_host) + " and " +
        std::to_string(shares.pieces));
  if (shares.root < 0 || shares.root >= ranks)
    throw ArgumentError("broadcast_through_hosts: expected a root in 0 … " + std::to_string(ranks - 1) +
                        ", found " + std::to_string(shares.root));
  return Making(shares)();
}

}  // namespace hemiola::synthesis
