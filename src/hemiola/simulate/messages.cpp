// SPDX-License-Identifier: Apache-2.0
#include "hemiola/simulate/messages.hpp"

#include "hemiola/base/heedful.hpp"

namespace hemiola::simulation {
namespace {

bool takes_time(const Scenario& scenario) {
  for (std::uint32_t pair = 0; pair < scenario.pair_count(); ++pair) {
    const auto path = scenario.path_of_pair(pair);
    heed_interrupt(static_cast<std::int64_t>(path.size()));
    for (const int link : path)
      if (scenario.message(link) > 0) return true;
  }
  return false;
}

}  // namespace

Messages::Messages(const Scenario& scenario) {
  if (!takes_time(scenario)) return;
  first_.resize(scenario.transfer_count());
  // In a step transfers stand in the order of their pairs, so that those of one message follow each other.
  const auto steps = scenario.schedule().step_offset();
  for (std::size_t s = 0; s + 1 < steps.size(); ++s) {
    const auto first = static_cast<TransferId>(steps[s]), last = static_cast<TransferId>(steps[s + 1]);
    for_heedful_blocks(first, last, [&](TransferId begin, TransferId end) {
      for (TransferId t = begin; t < end; ++t) {
        const bool joins =
            t > first && scenario.src(t) == scenario.src(t - 1) && scenario.dst(t) == scenario.dst(t - 1);
        first_[t] = joins ? first_[t - 1] : t;
      }
    });
  }
}

}  // namespace hemiola::simulation
