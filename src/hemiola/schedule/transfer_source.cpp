// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/transfer_source.hpp"

#include "hemiola/base/interrupt.hpp"

namespace hemiola {

void ScheduleSource::visit_blocks(const std::function<void(const TransferBlock&)>& visit) const {
  for (Step step : indices<Step>(schedule_.step_count())) {
    const std::int64_t begin = schedule_.step_offset()[static_cast<std::size_t>(step)];
    const auto count =
        static_cast<std::size_t>(schedule_.step_offset()[static_cast<std::size_t>(step) + 1] - begin);
    const auto at = static_cast<std::size_t>(begin);
    if (count == 0) continue;
    heed_interrupt(static_cast<std::int64_t>(count));
    visit({step, schedule_.link().subspan(at, count), schedule_.chunk().subspan(at, count),
           schedule_.reduce_words().data(), begin});
  }
}

}  // namespace hemiola
