// SPDX-License-Identifier: Apache-2.0
// The conditions of a call's program.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "hemiola/runtime/control/signature.hpp"
#include "hemiola/runtime/executor/program/buffer_layout.hpp"
#include "hemiola/runtime/executor/program/program.hpp"
#include "hemiola/schedule/schedule.hpp"

namespace hemiola {

struct CallKey {
  OperationKind kind = OperationKind::barrier;
  Op op = Op::sum;
  DType dtype = DType::uint8;
  bool in_place = false;
  SparseMode sparse = SparseMode::no;
  std::int32_t root = 0;
  std::int64_t block_elements = 0;
  InBlocks in_blocks = {};
  std::vector<std::int64_t> block_sizes = {};  ///< where blocks differ: the elements of each
  const Schedule* asked_for = nullptr;         ///< null: to be chosen
  const std::string* algorithm = nullptr;      ///< by its name, of which there is one copy; null: any

  /// Whether it leaves the schedule to the planner, and so to the findings.
  bool is_ours_to_choose() const { return asked_for == nullptr && algorithm == nullptr; }
  /// Whether its program is for the sizes of one call, which seldom come again.
  bool is_of_one_call() const {
    return block_elements == kBlocksByWeight || (kind == OperationKind::all_to_all && !block_sizes.empty());
  }
  friend auto operator<=>(const CallKey&, const CallKey&) = default;
};

}  // namespace hemiola
