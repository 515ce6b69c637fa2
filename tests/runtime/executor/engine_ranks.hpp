// SPDX-License-Identifier: Apache-2.0
// Engines on threads, one a rank, over a wire between threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "hemiola/base/error.hpp"
#include "hemiola/runtime/executor/host/engine.hpp"
#include "in_process/in_process_wire.hpp"

namespace hemiola::testing {

/// All peers are here from the start; an engine that is stuck ends the test.
class EverybodyIsWelcome : public Supervisor {
 public:
  bool admits(Rank) override { return true; }
  void check() override {
    if (std::chrono::steady_clock::now() > deadline_) throw TimeoutError("the test's engine is stuck");
  }

 private:
  std::chrono::steady_clock::time_point deadline_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
};

using Buffer = std::vector<std::int64_t>;

/// A value that tells rank and place, so that a misplaced or twice-added element shows.
inline std::int64_t value_of(Rank rank, std::int64_t element) {
  return 1'000'003 * (rank + 1) + element * element + 1;
}

/// Runs `rank_main` on a thread per rank, over one network.
inline void on_ranks(int rank_count, const InProcessOptions& options,
                     const std::function<void(Rank, Wire*)>& rank_main) {
  const Mailboxes mailboxes = mailboxes_for(rank_count);
  std::vector<std::thread> threads;
  for (Rank rank : indices<Rank>(rank_count))
    threads.emplace_back([&, rank] {
      InProcessWire wire(mailboxes, rank, options);
      rank_main(rank, &wire);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace hemiola::testing
