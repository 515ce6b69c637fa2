// SPDX-License-Identifier: Apache-2.0
// The programs of an all-reduce whose late rank is found while it runs: one per segment for the early ranks, and
// one for every way in which it can end.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "hemiola/runtime/adaptation/late_watch.hpp"
#include "hemiola/runtime/executor/program/compile.hpp"

namespace hemiola {

/// The way in which an all-reduce waits for a late rank: the number of segments that the others reduce meanwhile, and
/// of the finish's pieces. `plain` runs if nothing was reduced when the last rank came.
struct LateRule {
  /// Returns the schedule for one late rank and `reduced` segments. The reduction of segment k must take the
  /// `segment_steps` steps from segment_steps·k on, among the early ranks, over the same bytes for every `reduced` > k.
  using Generator = std::shared_ptr<const Schedule> (*)(int rank_count, Rank late, const LateRule& rule,
                                                        int reduced);

  std::shared_ptr<const Schedule> plain;
  Generator generate = nullptr;
  int segments = 1;          ///< 1 … LateWord::kMaxSegments
  int segment_steps = 1;     ///< 0: early ranks begin the schedule as a whole once the late one is known
  int chunks_per_owner = 1;  ///< see algorithms::LateSegments
  /// Its saving; needed if the ranks decide themselves whether to wait.
  std::shared_ptr<const LateForecast> forecast = nullptr;
  /// The host of each rank, where several share one; else empty.
  std::vector<int> node_of_rank = {};
  bool direct_finish = false;  ///< see algorithms::FinishKind
  /// The schedule around each rank, if they are planned ahead; else empty. Then there is one segment, of no step.
  std::vector<std::shared_ptr<const Schedule>> around = {};

  /// Throws ArgumentError for numbers out of range.
  void check() const;

 private:
  void check_around() const;
};

/// For one rank, one size and one type. Compiles on first use and keeps the result.
class LatePrograms {
 public:
  /// `common`: for the whole buffer; made in place in any case.
  LatePrograms(Rank self, int rank_count, const LateRule& rule, const CompileOptions& common);

  int segments() const { return rule_.segments; }
  /// The early ranks' reduce-scatter of a segment; null if the finish has it, too.
  std::shared_ptr<const Program> reduction(Rank late, int segment);
  /// The program of all ranks once `reduced` >= 1 segments are reduced.
  std::shared_ptr<const Program> finish(Rank late, int reduced);

 private:
  /// Tasks held in all; beyond it all go. About 100 bytes each.
  static constexpr std::size_t kMaxTasks = 1 << 20;

  struct Key {
    Rank late;
    int segment = 0;  ///< of a reduction; -1: the finish
    int reduced = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::shared_ptr<const Program> get(const Key& key);
  Program make(const Key& key);
  const Schedule& schedule(Rank late, int reduced);

  Rank self_;
  int rank_count_;
  LateRule rule_;
  CompileOptions common_;
  std::map<Key, std::shared_ptr<const Program>> programs_;
  std::size_t tasks_ = 0;
  std::shared_ptr<const Schedule> schedule_;  ///< the latest
  Rank schedule_late_;
  int schedule_reduced_ = 0;
};

}  // namespace hemiola
