// How to wait when nothing moves: spin briefly, then let others run, then sleep, and ask the supervisor now and
// then. On a machine with more ranks than cores the rank that is waited for needs the core, so there is next to no
// spinning then.
#pragma once

#include <sched.h>

#include <chrono>

#include "hemiola/runtime/engine/supervisor.hpp"
#include "hemiola/runtime/wire/wire.hpp"

namespace hemiola {

class Patience {
 public:
  struct Limits {
    int spins = 2000;    ///< pauses of a few ten nanoseconds
    int yields = 200;    ///< calls of sched_yield
    int sleep_us = 500;  ///< longest sleep; a wire wakes us earlier when it can
  };
  explicit Patience(const Limits& limits) : limits_(limits) {}

  /// Something has moved.
  void renew() { idle_rounds_ = 0; }

  /// Throws what the supervisor throws.
  void wait(Wire* wire, Supervisor* supervisor) {
    ++idle_rounds_;
    if (idle_rounds_ <= limits_.spins) {
      __builtin_ia32_pause();
      return;
    }
    consult(supervisor);
    if (idle_rounds_ <= limits_.spins + limits_.yields)
      sched_yield();
    else
      wire->wait(limits_.sleep_us);
  }

 private:
  static constexpr auto kConsultInterval = std::chrono::milliseconds(5);

  void consult(Supervisor* supervisor) {
    const auto now = std::chrono::steady_clock::now();
    if (next_consultation_ == std::chrono::steady_clock::time_point{})
      next_consultation_ = now + kConsultInterval;
    if (now < next_consultation_) return;
    next_consultation_ = now + kConsultInterval;
    supervisor->check();
  }

  Limits limits_;
  int idle_rounds_ = 0;
  std::chrono::steady_clock::time_point next_consultation_{};
};

}  // namespace hemiola
