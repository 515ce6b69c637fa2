// SPDX-License-Identifier: Apache-2.0
// The checks that every session makes of a rank's arguments to a call over some members.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/rank_list.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

/// Throws ArgumentError unless `members` are as Session says.
inline void check_members(const std::vector<Rank>& members, Rank self, int rank_count) {
  for (Rank member : members)
    if (member < 0 || member >= rank_count)
      throw ArgumentError("member " + std::to_string(member) +
                          " is out of range: the session has ranks 0 to " + std::to_string(rank_count - 1));
  const bool sorted = std::ranges::adjacent_find(members, std::greater_equal<>()) == members.end();
  if (!sorted || !std::ranges::binary_search(members, self))
    throw ArgumentError("members must be sorted ranks with this rank " + std::to_string(self) +
                        " among them, found " + rank_list(members));
}

/// Throws ArgumentError for more than Session allows.
inline void check_exchange_limits(std::string_view key, std::span<const std::byte> own) {
  if (own.size() <= Session::kMostExchanged && key.size() <= Session::kLongestKey) return;
  throw ArgumentError("exchange '" + std::string(key.substr(0, 40)) + "': a rank brings at most " +
                      std::to_string(Session::kMostExchanged) + " bytes under a key of at most " +
                      std::to_string(Session::kLongestKey) + ", found " + std::to_string(own.size()) +
                      " under " + std::to_string(key.size()));
}

}  // namespace hemiola
