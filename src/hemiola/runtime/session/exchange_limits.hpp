// What every session checks of what a rank brings to an exchange.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/session/session.hpp"

namespace hemiola {

/// Throws ArgumentError for more than Session allows.
inline void check_exchange_limits(std::string_view key, std::span<const std::byte> own) {
  if (own.size() <= Session::kMostExchanged && key.size() <= Session::kLongestKey) return;
  throw ArgumentError("exchange '" + std::string(key.substr(0, 40)) + "': a rank brings at most " +
                      std::to_string(Session::kMostExchanged) + " bytes under a key of at most " +
                      std::to_string(Session::kLongestKey) + ", found " + std::to_string(own.size()) +
                      " under " + std::to_string(key.size()));
}

}  // namespace hemiola
