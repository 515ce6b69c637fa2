// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/control/local/local_late_register.hpp"

#include <atomic>

#include "hemiola/base/deadline.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/runtime/control/late_word.hpp"

namespace hemiola {
namespace {

constexpr double kGlance_s = 0.005;
constexpr int kLongestSleep_us = 500;

}  // namespace

struct alignas(128) LocalLateRegister::Cell {
  std::atomic<std::uint64_t> word;
};

std::size_t LocalLateRegister::region_bytes() {
  return 2 * sizeof(Cell);
}

LocalLateRegister::LocalLateRegister(std::span<std::byte> region)
    : cells_(reinterpret_cast<Cell*>(region.data())) {
  HEMIOLA_CHECK(region.size() >= region_bytes(), "the late register's region is too small");
}

std::uint64_t LocalLateRegister::arrive(std::uint64_t operation, Rank self, int rank_count, const Check&) {
  std::atomic<std::uint64_t>& word = cells_[operation % 2].word;
  std::uint64_t before = word.load(), after = 0;
  do after = LateWord(before, operation).with_arrival(self, rank_count).bits();
  while (!word.compare_exchange_weak(before, after));
  return after;
}

std::uint64_t LocalLateRegister::load(std::uint64_t operation, const Check&) {
  return cells_[operation % 2].word.load();
}

bool LocalLateRegister::compare_exchange(std::uint64_t operation, std::uint64_t& expected,
                                         std::uint64_t desired, const Check&) {
  return cells_[operation % 2].word.compare_exchange_strong(expected, desired);
}

void LocalLateRegister::await_arrivals(std::uint64_t operation, int count, const Check& check) {
  Deadline glance(kGlance_s);
  for (Pause pause(kLongestSleep_us); LateWord(load(operation, check), operation).arrivals() < count;
       pause.wait()) {
    if (!glance.passed()) continue;
    check();
    glance = Deadline(kGlance_s);
  }
}

}  // namespace hemiola
