// SPDX-License-Identifier: Apache-2.0
// A wire sleeps on this: on all its sockets at once, each of which reports only news (edge-triggered).
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

#include "hemiola/base/descriptor.hpp"

namespace hemiola {

class Poller {
 public:
  struct News {
    std::uint32_t events;
    std::uint32_t key;
    int descriptor;
  };

  /// Throws LostRankError where the system has no room for it.
  Poller();

  int descriptor() const { return epoll_.get(); }
  void watch(int descriptor, std::uint32_t key);
  /// Tells as long as there is something to read, not only news.
  void watch_steadily(int descriptor, std::uint32_t key);
  /// Before a descriptor is closed: a forked child may have kept it open.
  void forget(int descriptor);

  /// Waits up to `timeout_us` for news, which stay valid until the next call.
  std::span<const News> look(int timeout_us);

 private:
  void add(int descriptor, std::uint32_t key, std::uint32_t events);

  Descriptor epoll_;
  std::array<News, 64> news_;
};

}  // namespace hemiola
