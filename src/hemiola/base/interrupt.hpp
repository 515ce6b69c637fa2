// How a long call ends early. Whoever calls the core may set a hook for its thread; loops that can take long say how
// much they have done, and now and then the hook is asked. Threads without a hook pay a comparison.
#pragma once

#include <cstdint>
#include <functional>

namespace hemiola {

namespace interrupt {
/// Small operations between two questions: some milliseconds.
inline constexpr std::int64_t kPatience = 1 << 20;
inline thread_local const std::function<void()>* hook = nullptr;
inline thread_local std::int64_t left = kPatience;
}  // namespace interrupt

/// While it lives, `heed_interrupt` in this thread calls the hook, which throws to end the call.
class InterruptScope {
 public:
  explicit InterruptScope(const std::function<void()>& hook) : before_(interrupt::hook) {
    interrupt::hook = &hook;
  }
  ~InterruptScope() { interrupt::hook = before_; }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  const std::function<void()>* before_;
};

namespace interrupt {
/// Out of the way of the loops that may call it.
[[gnu::noinline, gnu::cold]] inline void ask() {
  left = kPatience;
  (*hook)();
}
}  // namespace interrupt

/// Says that so many small operations are behind, or about to begin.
inline void heed_interrupt(std::int64_t operations) {
  if (interrupt::hook && (interrupt::left -= operations) <= 0) [[unlikely]]
    interrupt::ask();
}

}  // namespace hemiola
