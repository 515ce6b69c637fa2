// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/executor/program/exchange.hpp"

namespace hemiola {

std::optional<Exchange> exchange_of(const Program& program) {
  Exchange found;
  for (std::size_t i = 0; i < program.tasks.size(); ++i) {
    const Task& task = program.tasks[i];
    if (task.staged || (task.kind != TaskKind::send && task.kind != TaskKind::receive)) return std::nullopt;
    std::int32_t& message = task.kind == TaskKind::send ? found.send : found.receive;
    if (message >= 0) return std::nullopt;
    message = static_cast<std::int32_t>(i);
    if (task.successor_count > 0)
      found.order =
          task.kind == TaskKind::send ? Exchange::Order::send_first : Exchange::Order::receive_first;
  }
  return found;
}

}  // namespace hemiola
