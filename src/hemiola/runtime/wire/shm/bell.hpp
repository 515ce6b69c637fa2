// SPDX-License-Identifier: Apache-2.0
// What wakes a rank that sleeps on descriptors, of shared memory among others: a datagram socket with a name that others
// on this host can send to. Whoever sleeps on shared memory alone needs none (see Doorbell).
#pragma once

#include <cstdint>

#include "hemiola/base/descriptor.hpp"

namespace hemiola {

class Bell {
 public:
  /// Throws LostRankError where the system has no room for it.
  Bell();

  /// By which others ring it; never 0.
  std::uint64_t name() const { return name_; }
  /// Can be read once it has been rung, until it is silenced.
  int descriptor() const { return socket_.get(); }
  void silence();

  /// Rings a bell of this host, if it still is there.
  static void ring(std::uint64_t name);

 private:
  std::uint64_t name_;
  Descriptor socket_;
};

}  // namespace hemiola
