// SPDX-License-Identifier: Apache-2.0
// In which format the values went that an executor has sent where messages may leave zeros out.
#pragma once

#include <array>
#include <cstdint>

#include "hemiola/codec/format.hpp"

namespace hemiola {

/// Values, or slices of them, by format; those sent plain count as dense. Programs that are not coded count nothing.
struct SentForms {
  using ByFormat = std::array<std::uint64_t, codec::kFormatNames.size()>;

  ByFormat added = {};   ///< to the receiver's value, as in a reduce-scatter
  ByFormat copied = {};  ///< as in an all-gather
};

}  // namespace hemiola
