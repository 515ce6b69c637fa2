// SPDX-License-Identifier: Apache-2.0
// The source of programs: a whole schedule, or one that is known rank by rank.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "hemiola/runtime/executor/program/compile.hpp"
#include "hemiola/schedule/schedule_parts.hpp"

namespace hemiola {

class ProgramSource {
 public:
  ProgramSource() = default;
  ProgramSource(std::shared_ptr<const Schedule> schedule) : made_(std::move(schedule)) {}
  ProgramSource(std::shared_ptr<const ScheduleParts> parts) : made_(std::move(parts)) {}

  explicit operator bool() const { return identity() != nullptr; }
  /// The same for every copy, as long as one of them lives.
  const void* identity() const;
  const Collective& collective() const;
  Program compile(Rank rank, const CompileOptions& options) const;
  /// Equal on all ranks that have the same, never 0.
  std::uint64_t digest() const;

 private:
  std::variant<std::shared_ptr<const Schedule>, std::shared_ptr<const ScheduleParts>> made_;
};

}  // namespace hemiola
