// Letting the user interrupt a call that blocks in the core.
#pragma once

#include <nanobind/nanobind.h>

namespace hemiola::bindings {

/// Signals are handled in the main thread only; elsewhere this does nothing.
inline void raise_signals() {
  nanobind::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace hemiola::bindings
