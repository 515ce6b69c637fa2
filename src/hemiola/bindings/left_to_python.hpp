// SPDX-License-Identifier: Apache-2.0
// Ends Python objects whose last holder is a thread without the GIL, such as one that runs an operation in
// the background. Such a thread must not wait for a caller that works in Python, which gives the GIL up every
// 5 ms.
#pragma once

#include <memory>

namespace hemiola::bindings {

/// Calls `end(what)` with the GIL: at once in a thread that has it; otherwise in the main thread, once that
/// has taken the GIL again, or in the thread that calls `end_what_is_left` before. Once the interpreter has
/// ended, never.
void end_with_gil(void* what, void (*end)(void*)) noexcept;

/// In a thread that has the GIL. The ended objects may be Python's, and their destructors may do anything.
void end_what_is_left() noexcept;

/// Owns an object that needs the GIL to end, for C++ that lets go of it in any thread and never waits there.
template <typename T>
std::shared_ptr<T> ended_with_gil(T* made) {
  return {made, [](T* it) { end_with_gil(it, [](void* what) { delete static_cast<T*>(what); }); }};
}

}  // namespace hemiola::bindings
