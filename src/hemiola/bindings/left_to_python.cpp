// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bindings/left_to_python.hpp"

#include <Python.h>

#include <atomic>
#include <utility>

namespace hemiola::bindings {
namespace {

struct Left {
  void* what;
  void (*end)(void*);
  Left* next;
};

/// Without a lock, which a forked child might find taken for ever.
std::atomic<Left*> all_left = nullptr;
std::atomic<bool> has_been_asked = false;  ///< the main thread, which has not come by since

int come_by(void*) noexcept {
  has_been_asked.store(false);  // first: all that is left from here on is asked for again
  end_what_is_left();
  return 0;
}

}  // namespace

void end_with_gil(void* what, void (*end)(void*)) noexcept {
  if (Py_IsInitialized() == 0) return;
  if (PyGILState_Check() != 0) return end(what);
  auto* const left = new Left{what, end, all_left.load()};
  while (!all_left.compare_exchange_weak(left->next, left)) {
  }
  // Where Python has no room for another call, the next that is left asks again.
  if (!has_been_asked.exchange(true) && Py_AddPendingCall(come_by, nullptr) != 0) has_been_asked.store(false);
}

void end_what_is_left() noexcept {
  if (all_left.load(std::memory_order_relaxed) == nullptr) [[likely]]
    return;
  for (Left* left = all_left.exchange(nullptr); left != nullptr;) {
    left->end(left->what);
    delete std::exchange(left, left->next);
  }
}

}  // namespace hemiola::bindings
