// SPDX-License-Identifier: Apache-2.0
// Letting other Python threads run while one works in the core, and taking Python's lock (the GIL) back.
//
// A daemon thread may still be in the core when the interpreter ends. Until Python 3.13 such a thread is ended where it
// takes the lock, by unwinding its stack, and in a destructor that ends the process with an abort. From 3.14 on it rests
// there instead; with these classes it does so under every Python.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include "hemiola/base/short_waits.hpp"

namespace hemiola::bindings {

/// Returns the result of `take`, or never, if it would end this thread.
template <typename Take>
auto take_or_rest(Take take) noexcept {
  try {
    return take();
  } catch (...) {
    for (;;) pause();
  }
}

/// While one lives, its thread does not have the GIL, which it had.
class GilReleased {
 public:
  GilReleased() noexcept : state_(PyEval_SaveThread()) {}
  ~GilReleased() {
    take_or_rest([this] { PyEval_RestoreThread(state_); });
  }
  GilReleased(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

/// While one lives, its thread keeps the GIL, which it has, until it waits for long; from then on others may take it.
class GilThroughShortWaits final : public KeptThroughShortWaits {
 public:
  GilThroughShortWaits() = default;
  ~GilThroughShortWaits() {
    if (state_ != nullptr) take_or_rest([this] { PyEval_RestoreThread(state_); });
  }

 private:
  void give_up() override {
    if (state_ == nullptr) state_ = PyEval_SaveThread();
  }

  PyThreadState* state_ = nullptr;  ///< null: it has the GIL
};

/// While one lives, its thread has the GIL, whether it had it before or not.
class GilHeld {
 public:
  GilHeld() noexcept : state_(take_or_rest([] { return PyGILState_Ensure(); })) {}
  ~GilHeld() { PyGILState_Release(state_); }
  GilHeld(const GilHeld&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace hemiola::bindings
