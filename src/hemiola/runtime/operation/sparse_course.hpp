// SPDX-License-Identifier: Apache-2.0
// A collective whose messages may leave zeros out if that pays. Now and then ranks look at some of their elements and
// add up the counts of zeros. By the sum all choose the same program, for this operation and those after it. Dense data
// run the dense program, and cost nothing beside the look. Between looks a bit on messages that go anyway says whether
// data have changed, and then the next operation looks. See docs/decisions/0018-coded-messages.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "hemiola/codec/costs.hpp"
#include "hemiola/codec/zero_sample.hpp"
#include "hemiola/runtime/adaptation/density_watch.hpp"
#include "hemiola/runtime/operation/operation.hpp"
#include "hemiola/runtime/operation/program_source.hpp"

namespace hemiola {

/// When leaving zeros out is expected to pay, and by which schedule. Densities are shares of elements that are not zero.
struct SparseRule {
  double coded_below = 0;              ///< below it messages of the chosen schedule leave zeros out; 0: never
  ProgramSource without_fill_in = {};  ///< runs instead where ...
  double without_fill_in_below = 0;    ///< ... the density is less than that
  ProgramSource exchange = {};         ///< an all-reduce, by which ranks add up their counts
  int pause = 64;                      ///< they look before one operation in so many of a signature
  codec::CostsOfUse costs = {};        ///< of messages, by which this rank chooses their formats

  enum class Way : std::uint8_t {
    dense,            ///< the chosen schedule
    coded,            ///< the same, its messages leaving zeros out
    without_fill_in,  ///< the other schedule, its messages leaving zeros out
    exchange,         ///< of SeenZeros, out of place
  };
  Way way(double density) const {
    if (density < without_fill_in_below) return Way::without_fill_in;
    return density < coded_below ? Way::coded : Way::dense;
  }
  /// Throws ArgumentError for numbers out of range.
  void check() const;
};

class SparseCourse final : public Course {
 public:
  using Way = SparseRule::Way;
  /// Of int64, whose sums the exchange makes.
  static constexpr std::int64_t kFigures = 3;
  /// The program of a way, compiled when it is first asked for.
  using Programs = std::function<std::shared_ptr<const Program>(Way)>;

  /// `found`: by which it runs. `is_summed`: its result is made of sums.
  SparseCourse(const Findings& found, bool is_summed, std::shared_ptr<const SparseRule> rule,
               Programs programs)
      : looks_(found.looks),
        density_(found.density),
        is_summed_(is_summed),
        rule_(std::move(rule)),
        programs_(std::move(programs)) {}

  void execute(const Operation& operation, const Stage& stage, Note* note) override;

 private:
  void run_looking(const Operation& operation, const Stage& stage, ZerosNote* note);
  void run_hinting(const Operation& operation, const Stage& stage, ZerosNote* note);
  SeenZeros look(const Operation& operation, const Stage& stage);
  void hint(const Operation& operation, const Stage& stage) const;
  void run(Way way, const Buffers& buffers, const Arithmetic& arithmetic, const Stage& stage);

  bool looks_;
  double density_;
  bool is_summed_;
  std::shared_ptr<const SparseRule> rule_;
  Programs programs_;
  // These outlive `execute`: after a disagreement the wire still sends from them and lands in them, until it is reset.
  std::vector<std::shared_ptr<const Program>> ran_;
  std::array<std::int64_t, kFigures> own_figures_{};
  std::array<std::int64_t, kFigures> sums_{};
};

}  // namespace hemiola
