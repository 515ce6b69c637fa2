// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/wire/tcp/poller.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola {
namespace {

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/// Kernels before 5.11 count in milliseconds.
int wait_for_events(int epoll, std::span<epoll_event> events, int timeout_us) {
  static std::atomic<bool> counts_finely{true};
  const int most = static_cast<int>(events.size());
  if (timeout_us > 0 && counts_finely.load(std::memory_order_relaxed)) {
    const timespec timeout{timeout_us / 1'000'000, timeout_us % 1'000'000 * 1000L};
    const long count = ::syscall(SYS_epoll_pwait2, epoll, events.data(), most, &timeout, nullptr, 0);
    if (count >= 0 || errno != ENOSYS) return static_cast<int>(count);
    counts_finely = false;
  }
  return ::epoll_wait(epoll, events.data(), most, (timeout_us + 999) / 1000);
}

}  // namespace

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_)
    throw LostRankError(std::string("cannot wait for messages of other ranks: ") + std::strerror(errno) +
                        kRaiseFileLimit);
}

void Poller::watch(int descriptor, std::uint32_t key) {
  add(descriptor, key, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

void Poller::watch_steadily(int descriptor, std::uint32_t key) {
  add(descriptor, key, EPOLLIN);
}

void Poller::add(int descriptor, std::uint32_t key, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = std::uint64_t{key} << 32 | static_cast<std::uint32_t>(descriptor);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event);
}

void Poller::forget(int descriptor) {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

std::span<const Poller::News> Poller::look(int timeout_us) {
  std::array<epoll_event, std::tuple_size_v<decltype(news_)>> events;
  const int found = wait_for_events(epoll_.get(), events, timeout_us);
  const auto count = static_cast<std::size_t>(std::max(found, 0));
  for (std::size_t i = 0; i < count; ++i)
    news_[i] = {events[i].events, static_cast<std::uint32_t>(events[i].data.u64 >> 32),
                static_cast<int>(static_cast<std::uint32_t>(events[i].data.u64))};
  return std::span(news_).first(count);
}

}  // namespace hemiola
