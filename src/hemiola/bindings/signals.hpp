// SPDX-License-Identifier: Apache-2.0
// Letting the user interrupt a call that blocks in the core.
#pragma once

#include <nanobind/nanobind.h>

#include "hemiola/bindings/gil.hpp"

namespace hemiola::bindings {

/// Signals are handled in the main thread only; elsewhere this does nothing.
inline void raise_signals() {
  GilHeld gil;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace hemiola::bindings
