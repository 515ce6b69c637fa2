// SPDX-License-Identifier: Apache-2.0
// Lists of ranks as messages carry them: runs of consecutive numbers, so that a list of all members is as short in a
// large job as in a small one. Any order can be carried. A list has one form, so packed lists can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "hemiola/base/bytes.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/base/head.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola {

/// first, first + 1, …; in memory as it is sent.
struct RankRun {
  Rank first;
  std::uint32_t count;
  std::int64_t end() const { return std::int64_t{first} + count; }
};

/// What a few bytes of a message may become. A receiver keeps hundreds of such lists.
constexpr std::size_t kMostListedRanks = 1 << 16;

template <std::ranges::input_range Ranks>
Bytes packed_ranks(const Ranks& ranks) {
  std::vector<RankRun> runs;
  for (const Rank rank : ranks)
    if (!runs.empty() && runs.back().end() == rank)
      ++runs.back().count;
    else
      runs.push_back({rank, 1});
  const auto bytes = std::as_bytes(std::span(runs));
  return {bytes.begin(), bytes.end()};
}

/// Throws FormatError for runs that packed_ranks does not make, and for more than `most` ranks.
inline std::vector<Rank> unpacked_ranks(std::span<const std::byte> bytes,
                                        std::size_t most = kMostListedRanks) {
  std::vector<Rank> ranks;
  std::int64_t last_end = -1;
  for (const RankRun& run : items_of<RankRun>(bytes, bytes.size() / sizeof(RankRun))) {
    const bool are_ranks = run.first >= 0 && run.end() <= std::numeric_limits<Rank::value_type>::max();
    if (!are_ranks || run.count == 0 || run.first == last_end || run.count > most - ranks.size())
      throw FormatError("a list of ranks with a run of " + std::to_string(run.count) + " from " +
                        std::to_string(run.first) + " on, after " + std::to_string(ranks.size()) +
                        " of at most " + std::to_string(most));
    last_end = run.end();
    ranks.resize(ranks.size() + run.count);
    std::iota(ranks.end() - run.count, ranks.end(), run.first);
  }
  return ranks;
}

}  // namespace hemiola
