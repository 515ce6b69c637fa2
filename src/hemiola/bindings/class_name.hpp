// SPDX-License-Identifier: Apache-2.0
// An object's kind, in messages to people.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace hemiola::bindings {

/// The name of its class.
inline std::string class_of(nanobind::handle object) {
  return nanobind::cast<std::string>(object.type().attr("__name__"));
}

}  // namespace hemiola::bindings
