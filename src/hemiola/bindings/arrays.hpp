// SPDX-License-Identifier: Apache-2.0
// NumPy views of the core's vectors, and checked conversion of Python integers to indices.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/base/index.hpp"

namespace hemiola::bindings {

/// A read-only view without a copy; `owner` is kept alive by it.
template <typename T>
nanobind::object view_of(std::span<const T> values, nanobind::handle owner) {
  return nanobind::cast(
      nanobind::ndarray<nanobind::numpy, const T, nanobind::ndim<1>>(values.data(), {values.size()}, owner));
}

/// An index is a 32-bit integer in memory, so a vector of ranks or chunks is one of int32.
template <typename Tag>
std::span<const std::int32_t> as_integers(std::span<const Index<Tag>> values) {
  static_assert(sizeof(Index<Tag>) == sizeof(std::int32_t));
  return {reinterpret_cast<const std::int32_t*>(values.data()), values.size()};
}

/// Throws ArgumentError that names `what` unless the value fits an index.
template <typename I>
I to_index(std::int64_t value, const char* what) {
  if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max())
    throw ArgumentError(std::string(what) + ": expected an integer of 32 bits, found " +
                        std::to_string(value));
  return I{value};
}

}  // namespace hemiola::bindings
