// SPDX-License-Identifier: Apache-2.0
#include "hemiola/trees/add_in_steps.hpp"

#include <cstddef>
#include <vector>

#include "hemiola/base/heedful.hpp"

namespace hemiola::trees {

void add_in_steps(ScheduleBuilder* builder, const Network& network, const Sends& sends) {
  std::vector<std::size_t> next(static_cast<std::size_t>(step_count(sends)) + 1, 0);
  for (const Send& send : sends) ++next[static_cast<std::size_t>(send.step) + 1];
  for (std::size_t step = 1; step < next.size(); ++step) next[step] += next[step - 1];
  std::vector<std::uint32_t> order;
  heedful_resize(&order, sends.size());
  for_heedful_blocks(sends.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      order[next[static_cast<std::size_t>(sends[i].step)]++] = static_cast<std::uint32_t>(i);
  });
  builder->reserve(static_cast<std::int64_t>(sends.size()));
  for_heedful_blocks(sends.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Send& send = sends[order[i]];
      const Channel& channel = network.channels[send.channel];
      builder->add({Step{send.step}, channel.src, channel.dst, Chunk{send.chunk}, send.reduce});
    }
  });
}

}  // namespace hemiola::trees
