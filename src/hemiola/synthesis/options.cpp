// SPDX-License-Identifier: Apache-2.0
#include "hemiola/synthesis/options.hpp"

#include <string>

#include "hemiola/base/error.hpp"
#include "hemiola/schedule/schedule.hpp"

namespace hemiola::synthesis {
namespace {

constexpr int kMaxTrials = 1 << 20;
constexpr int kMaxThreads = 1024;

}  // namespace

void check_options(const Topology& topology, const Collective& collective, const Options& options) {
  if (topology.rank_count() < 2)
    throw ArgumentError("synthesize: expected a topology of at least 2 ranks, found 1");
  if (collective.rank_count() != topology.rank_count())
    throw ArgumentError("synthesize: expected a collective of the topology's " +
                        std::to_string(topology.rank_count()) + " ranks, found " +
                        std::to_string(collective.rank_count()));
  if (options.buffer_bytes < 0)
    throw ArgumentError("synthesize: expected nbytes >= 0, found " + std::to_string(options.buffer_bytes));
  if (options.trials < 0 || options.trials > kMaxTrials)
    throw ArgumentError("synthesize: expected 1 … " + std::to_string(kMaxTrials) + " trials, found " +
                        std::to_string(options.trials));
  if (options.threads < 1 || options.threads > kMaxThreads)
    throw ArgumentError("synthesize: expected 1 … " + std::to_string(kMaxThreads) + " threads, found " +
                        std::to_string(options.threads));
}

std::int64_t chunk_bytes(const Collective& collective, std::int64_t buffer_bytes) {
  const std::int64_t chunks = collective.chunk_count();
  const std::int64_t all = exchange_size(collective, buffer_bytes);
  return all / chunks + (all % chunks != 0 ? 1 : 0);  // the result of rounded_up may exceed 64 bits
}

}  // namespace hemiola::synthesis
