// SPDX-License-Identifier: Apache-2.0
// The links by which ranks send and receive, as windows of time in which they can deliver.
#pragma once

#include <string>
#include <vector>

#include "hemiola/bounds/problem.hpp"

namespace hemiola::bounds {

/// A link that may carry bytes from `from` on, which arrive `delay` after they have left: by a time T it can
/// have delivered bandwidth * (T - from - delay).
struct Window {
  double bandwidth_Bps;
  Picoseconds from;
  Picoseconds delay;
};

/// The earliest time by which the windows together can have delivered `bytes`, rounded down; 0 for no bytes.
/// Throws InternalError without windows.
Picoseconds earliest_delivery(std::vector<Window> windows, std::int64_t bytes);

/// The links themselves, in words: "a port of 1 GB/s", "8 ports of 125 MB/s, together 1 GB/s", and where they differ "3 ports of
/// 125 MB/s to 1 GB/s, together 2 GB/s".
std::string described(const std::vector<Window>& windows);

class Ports {
 public:
  explicit Ports(const Problem& problem);

  /// Bytes do not leave before the rank has arrived and the link has taken its time for a message; bytes that
  /// have left a link must still reach some rank.
  std::vector<Window> out_windows(Rank rank) const;
  /// Entering bytes come from some rank, after the link's time for a message. A message may be under way to a
  /// rank that is late, so arrival does not count.
  std::vector<Window> in_windows(Rank rank) const;

  /// The least time of a message beside its bytes on a link out of the rank.
  Picoseconds least_message_out(Rank rank) const;

  /// The sum over all links.
  double out_bandwidth(Rank rank) const;
  double in_bandwidth(Rank rank) const;

 private:
  bool leads_to_rank(int link) const;
  bool comes_from_rank(int link) const;

  const Problem& problem_;
  std::vector<Picoseconds> to_rank_, from_rank_;  ///< per vertex, to or from the nearest rank
};

}  // namespace hemiola::bounds
