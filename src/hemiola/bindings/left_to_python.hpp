// Ending what belongs to Python where the last to hold it is a thread without the GIL, as those are in which operations go
// on in the background: such a thread must not wait for a caller that works in Python, who gives the GIL up every 5 ms.
#pragma once

#include <memory>

namespace hemiola::bindings {

/// Calls `end(what)` with the GIL: at once in a thread that has it; otherwise in the main thread, once that has taken the GIL
/// again, or in whichever thread calls `end_what_is_left` before. Once the interpreter has ended, never.
void end_with_gil(void* what, void (*end)(void*)) noexcept;

/// In a thread that has the GIL. What is ended may be Python's, and do whatever its destructors do.
void end_what_is_left() noexcept;

/// Owns what needs the GIL to end, for C++ that lets go of it in any thread and never waits there.
template <typename T>
std::shared_ptr<T> ended_with_gil(T* made) {
  return {made, [](T* it) { end_with_gil(it, [](void* what) { delete static_cast<T*>(what); }); }};
}

}  // namespace hemiola::bindings
