// SPDX-License-Identifier: Apache-2.0
// Every long call into the core holds this. Other Python threads run meanwhile, Ctrl-C ends it, and observers of this
// thread's long calls learn their progress.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "hemiola/base/interrupt.hpp"
#include "hemiola/base/progress.hpp"
#include "hemiola/bindings/gil.hpp"
#include "hemiola/bindings/signals.hpp"

namespace hemiola::bindings {

class LongCall {
 public:
  LongCall() : scope_(look_up()) {}

  /// From now on `watcher` is called in this thread with the share of a long call that is behind, where that is known;
  /// None: nobody. Returns who was before.
  static nanobind::object watch(nanobind::object watcher) {
    PyObject* before = std::exchange(watcher_, watcher.is_none() ? nullptr : watcher.release().ptr());
    return before == nullptr ? nanobind::none() : nanobind::steal(before);
  }

  /// Tells the watcher of this thread how much is behind: of the outermost budget, if there is one, or of the call.
  static void tell_watcher() {
    const Budget* budget = Budget::outermost_limited();
    const double behind = budget == nullptr
                              ? progress::behind
                              : static_cast<double>(budget->spent()) / static_cast<double>(budget->limit());
    if (watcher_ != nullptr && behind > 0) nanobind::borrow(watcher_)(std::min(behind, 1.0));
  }

 private:
  static const std::function<void()>& look_up() {
    static const std::function<void()> look = [] {
      GilHeld gil;
      raise_signals();
      tell_watcher();
    };
    return look;
  }

  /// Owned, but by nobody who is destroyed at the thread's end, where the interpreter may be gone.
  static inline thread_local PyObject* watcher_ = nullptr;

  ProgressScope progress_;
  InterruptScope scope_;
  GilReleased release_;
};

}  // namespace hemiola::bindings
