// SPDX-License-Identifier: Apache-2.0
// Bytes between Python and the core.
#pragma once

#include <nanobind/nanobind.h>

#include "hemiola/base/bytes.hpp"

namespace hemiola::bindings {

inline Bytes bytes_of(const nanobind::bytes& object) {
  const auto* begin = static_cast<const std::byte*>(object.data());
  return {begin, begin + object.size()};
}

inline nanobind::bytes to_python(const Bytes& bytes) {
  return nanobind::bytes(bytes.data(), bytes.size());
}

}  // namespace hemiola::bindings
