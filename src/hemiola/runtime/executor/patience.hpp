// How to wait when nothing moves: spin briefly, then let others run, then sleep, and ask the supervisor now and
// then. On a machine with more ranks than cores the rank that is waited for needs the core, so there is next to no
// spinning then.
#pragma once

#include <sched.h>

#include <chrono>

#include "hemiola/runtime/executor/supervisor.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

class Patience {
 public:
  explicit Patience(const Waiting& waiting) : waiting_(waiting) {}

  /// Something has moved.
  void renew() { idle_rounds_ = 0; }

  /// Throws what the supervisor throws.
  void wait(Wire* wire, Supervisor* supervisor) {
    ++idle_rounds_;
    if (idle_rounds_ <= waiting_.spins) {
      relax_core();
      return;
    }
    consult(supervisor);
    if (idle_rounds_ <= waiting_.spins + waiting_.yields)
      sched_yield();
    else
      wire->wait(waiting_.sleep_us);
  }

 private:
  /// Lets the core's other thread run for an instant.
  static void relax_core() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::
                     : "memory");  // some ten nanoseconds, as the pause; `yield` does nothing on most cores
#endif
  }

  static constexpr auto kConsultInterval = std::chrono::milliseconds(5);

  void consult(Supervisor* supervisor) {
    const auto now = std::chrono::steady_clock::now();
    if (next_consultation_ == std::chrono::steady_clock::time_point{})
      next_consultation_ = now + kConsultInterval;
    if (now < next_consultation_) return;
    next_consultation_ = now + kConsultInterval;
    supervisor->check();
  }

  Waiting waiting_;
  int idle_rounds_ = 0;
  std::chrono::steady_clock::time_point next_consultation_{};
};

}  // namespace hemiola
