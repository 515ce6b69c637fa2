// SPDX-License-Identifier: Apache-2.0
// The first cause, as Python has it.
#pragma once

#include <nanobind/nanobind.h>

#include "hemiola/runtime/session/cause.hpp"

namespace hemiola::bindings {

/// A hemiola.errors.Cause; None for one that names nobody.
nanobind::object to_python_cause(const Cause& cause);

}  // namespace hemiola::bindings
