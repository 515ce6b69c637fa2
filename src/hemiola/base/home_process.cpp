// SPDX-License-Identifier: Apache-2.0
#include "hemiola/base/home_process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

std::atomic<std::uint64_t> forks_so_far = 0;

void count_forks() {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks_so_far.fetch_add(1, std::memory_order_relaxed); });
  HEMIOLA_CHECK(registered == 0, "no memory to register a handler for forks");
}

}  // namespace

HomeProcess::HomeProcess() : process_(::getpid()) {
  count_forks();
  forks_ = forks_so_far.load(std::memory_order_relaxed);
}

bool HomeProcess::is_here() const {
  return forks_so_far.load(std::memory_order_relaxed) == forks_;
}

void HomeProcess::check() const {
  if (is_here()) return;
  throw ArgumentError("communicators belong to the process that made them, " + std::to_string(process_) +
                      "; this one, " + std::to_string(::getpid()) +
                      ", was forked from it and is no rank. Call hemiola in the rank itself, and start its "
                      "helpers with multiprocessing's 'spawn' or 'forkserver' if they are to use hemiola");
}

}  // namespace hemiola
