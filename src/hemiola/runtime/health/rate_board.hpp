// Where ranks show each other, in shared memory, what their meters found in the latest operations. Whoever reads an
// operation's figures once everybody has come to the next one reads the same as all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// Two rows per rank, used in turn. The caller sees to the order: a rank shows operation g when all have come to g, and
/// reads it when all have come to g+1, so nobody overwrites what somebody may still read.
class RateBoard {
 public:
  static std::size_t region_bytes(int rank_count);
  /// `region` is zero-filled at first, shared by all ranks, aligned to a cache line, and outlives the board.
  RateBoard(std::span<std::byte> region, Rank self, int rank_count);

  /// `shares`: by rank, 0 where nothing was measured.
  void show(std::uint64_t number, std::span<const float> shares);

  /// Per rank, the best share that it or another has seen of its port in operation `number`; 0 where nobody has. False:
  /// no rank has shown anything. Cost: the square of the number of ranks that have.
  bool read(std::uint64_t number, std::span<double> best_share) const;

 private:
  struct Row;

  Row& row(Rank rank, std::uint64_t number) const;
  std::span<float> shares(Rank rank, std::uint64_t number) const;

  std::byte* region_;
  Rank self_;
  int rank_count_;
};

}  // namespace hemiola
