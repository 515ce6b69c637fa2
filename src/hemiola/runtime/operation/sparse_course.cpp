// SPDX-License-Identifier: Apache-2.0
#include "hemiola/runtime/operation/sparse_course.hpp"

#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/codec/format.hpp"
#include "hemiola/codec/zero_sample.hpp"
#include "hemiola/runtime/executor/block_places.hpp"

namespace hemiola {
namespace {

/// Fewer zeros than one element in so many make nothing shorter.
constexpr std::int64_t kElementsPerZero = 32;
/// The weight of a hint.
constexpr std::size_t kHintLines = 16;

void check_share(double share, const char* name) {
  if (!(share >= 0 && share <= 1))
    throw ArgumentError(std::string("sparse rule: expected ") + name + " in 0 … 1, found " +
                        std::to_string(share));
}

bool is_dense(const codec::ZeroCount& own) {
  return own.elements > 0 && own.zeros * kElementsPerZero < own.elements;
}

/// Of blocks, the first that has elements tells enough.
codec::ZeroCount sample(const Operation& operation, std::size_t most_lines) {
  const Buffers& buffers = operation.buffers;
  if (buffers.input == nullptr) return {};
  const std::byte* elements = buffers.input;
  std::int64_t bytes = operation.program->bytes[static_cast<int>(Region::input)];
  if (buffers.input_blocks && bytes > 0) {
    const BlockPlaces blocks{*buffers.input_blocks, operation.program->input_begins};
    elements = blocks.at(0);
    bytes = blocks.bytes_of_first();
  }
  return codec::sample_zeros(elements, static_cast<std::size_t>(bytes),
                             codec::element_bytes(operation.arithmetic.dtype), most_lines);
}

}  // namespace

void SparseRule::check() const {
  check_share(coded_below, "coded_below");
  check_share(without_fill_in_below, "without_fill_in_below");
  if (without_fill_in_below > 0 && !without_fill_in)
    throw ArgumentError("sparse rule: expected a schedule for without_fill_in_below, found none");
  if (pause < 1)
    throw ArgumentError("sparse rule: expected a pause of at least 1 operation, found " +
                        std::to_string(pause));
  if (coded_below > 0 && !exchange)
    throw ArgumentError("sparse rule: expected the schedule of an exchange, found none");
}

void SparseCourse::execute(const Operation& operation, const Stage& stage, Note* note) {
  note->zeros.emplace();
  if (looks_)
    run_looking(operation, stage, &*note->zeros);
  else
    run_hinting(operation, stage, &*note->zeros);
  if (looks_) note->sends_all = rule_->way(*note->zeros->density) == Way::dense;
}

/// A rank that has come to the end of the look knows that all have come and agree: everybody's figures are in the sum.
void SparseCourse::run_looking(const Operation& operation, const Stage& stage, ZerosNote* note) {
  const double seen = look(operation, stage).density(is_summed_);
  *note = {.density = seen, .pause = rule_->pause, .has_changed = rule_->way(seen) != rule_->way(density_)};
  run(rule_->way(seen), operation.buffers, operation.arithmetic, stage);
}

void SparseCourse::run_hinting(const Operation& operation, const Stage& stage, ZerosNote* note) {
  const bool hints =
      stage.executor->carries_hints() && operation.signature.everybody_depends_on_everybody(stage.rank_count);
  if (hints) hint(operation, stage);
  run(rule_->way(density_), operation.buffers, operation.arithmetic, stage);
  const bool seems_dense = stage.executor->has_hint() == is_summed_;
  note->is_hinted = hints && seems_dense != (rule_->way(density_) == Way::dense);
}

/// One rank is enough to make a sum dense, or to bring zeros worth leaving out where all is only copied.
void SparseCourse::hint(const Operation& operation, const Stage& stage) const {
  const codec::ZeroCount own = sample(operation, kHintLines);
  if (is_summed_ ? is_dense(own) : own.zeros * kElementsPerZero >= own.elements * stage.rank_count)
    stage.executor->spread_hint();
}

SeenZeros SparseCourse::look(const Operation& operation, const Stage& stage) {
  const codec::ZeroCount own = sample(operation, codec::kMostSampledLines);
  own_figures_ = {own.zeros, own.elements, is_dense(own) ? 1 : 0};
  run(Way::exchange,
      {reinterpret_cast<const std::byte*>(own_figures_.data()), reinterpret_cast<std::byte*>(sums_.data())},
      {DType::int64, Op::sum, 1}, stage);
  stage.executor->begin_operation();  // the next program works in other buffers
  return {sums_[0], sums_[1], sums_[2]};
}

void SparseCourse::run(Way way, const Buffers& buffers, const Arithmetic& arithmetic, const Stage& stage) {
  ran_.push_back(programs_(way));
  stage.executor->choose_formats_by(rule_->costs);
  stage.executor->execute(*ran_.back(), buffers, arithmetic, stage.supervisor);
}

}  // namespace hemiola
