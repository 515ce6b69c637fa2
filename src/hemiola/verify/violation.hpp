// SPDX-License-Identifier: Apache-2.0
// The judge's finding: the rule that a schedule breaks, where, and one sentence about it; and the bounded
// list of the first such sentences.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "hemiola/base/index.hpp"

namespace hemiola {

/// | rule                  | fires when                                                                               |
/// |-----------------------|------------------------------------------------------------------------------------------|
/// | read_before_defined   | a transfer reads a slot that holds nothing yet                                           |
/// | reduce_into_undefined | a reduce adds into a slot that holds nothing yet                                         |
/// | reduce_not_allowed    | a reduce occurs in a collective that does not reduce                                     |
/// | copy_conflict         | two copies write one slot in one step                                                    |
/// | copy_reduce_conflict  | a copy and a reduce write one slot in one step                                           |
/// | counted_twice         | a reduce adds a contribution that is there already, and a wanted result shows it         |
/// | missing_contribution  | a wanted result lacks the contributions of some ranks                                    |
/// | missing_chunk         | a wanted slot holds nothing in the end                                                   |
/// | leftover              | a rank that does not want a chunk receives it, and nothing reads what it received        |
/// | no_link               | (with a topology) a transfer joins ranks between which there is no link                  |
/// | over_capacity         | (with a capacity) a step puts more chunks on a link or a port                            |
/// | redundant             | (only on request) a copy brings what the slot already holds                              |
enum class Rule : std::uint8_t {
  read_before_defined,
  reduce_into_undefined,
  reduce_not_allowed,
  copy_conflict,
  copy_reduce_conflict,
  counted_twice,
  missing_contribution,
  missing_chunk,
  leftover,
  no_link,
  over_capacity,
  redundant,
};

std::string_view name_of(Rule rule);

/// `step` is the step of the offending transfer, or the schedule's step count for a violation of the end.
struct Violation {
  Rule rule;
  Step step;
  Rank rank;
  Chunk chunk;
  std::string message;

  friend bool operator==(const Violation&, const Violation&) = default;
};

/// Keeps the first `capacity` distinct violations in the order (step, chunk, rank, rule), in bounded memory.
class Report {
 public:
  explicit Report(std::size_t capacity) : capacity_(capacity) {}

  /// Whether a violation at this place would be kept; ask before composing a message.
  bool admits(Rule rule, Step step, Rank rank, Chunk chunk) const;
  /// Whether no more violations of this chunk in this step or later would be kept.
  bool is_full_before(Step step, Chunk chunk) const;
  void add(Violation violation);
  void merge(const Report& other);
  std::vector<Violation> finish() const;

 private:
  using Key = std::tuple<Step, Chunk, Rank, Rule>;

  std::size_t capacity_;
  std::map<Key, std::string> kept_;
};

}  // namespace hemiola
