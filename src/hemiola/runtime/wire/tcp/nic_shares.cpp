// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/tcp/nic_shares.hpp"

#include <algorithm>

namespace hemiola {
namespace {

/// Shares of two NICs are then off by a ninth at worst.
constexpr std::size_t kMostLines = 8;

/// Lines one after the other, each on the NIC that would be done first with it.
std::vector<std::size_t> dealt(std::span<const std::uint32_t> speeds, std::size_t line_count) {
  std::vector<std::uint64_t> counts(speeds.size());
  std::vector<std::size_t> nics;
  while (nics.size() < line_count) {
    std::size_t first = 0;
    for (std::size_t nic = 1; nic < speeds.size(); ++nic)
      if ((counts[nic] + 1) * speeds[first] < (counts[first] + 1) * speeds[nic]) first = nic;
    ++counts[first];
    nics.push_back(first);
  }
  return nics;
}

/// How long a message on every line takes, for each of them.
double time_of(std::span<const std::uint32_t> speeds, const std::vector<std::size_t>& nics) {
  double longest = 0;
  for (std::size_t nic = 0; nic < speeds.size(); ++nic)
    longest = std::max(longest, static_cast<double>(std::ranges::count(nics, nic)) / speeds[nic]);
  return longest / static_cast<double>(nics.size());
}

}  // namespace

std::vector<std::size_t> nic_of_each_line(std::span<const std::uint32_t> speeds) {
  std::vector<std::size_t> best = dealt(speeds, 1);
  for (std::size_t count = 2; speeds.size() > 1 && count <= kMostLines; ++count) {
    std::vector<std::size_t> nics = dealt(speeds, count);
    if (time_of(speeds, nics) < (1 - 1e-9) * time_of(speeds, best)) best = std::move(nics);
  }
  return best;
}

}  // namespace hemiola
