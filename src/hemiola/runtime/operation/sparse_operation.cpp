#include "hemiola/runtime/operation/sparse_operation.hpp"

#include <array>
#include <string>
#include <utility>

#include "hemiola/base/error.hpp"
#include "hemiola/codec/format.hpp"
#include "hemiola/codec/zero_sample.hpp"
#include "hemiola/runtime/operation/agreement.hpp"

namespace hemiola {
namespace {

/// Fewer zeros than one element in so many make nothing shorter.
constexpr std::int64_t kElementsPerZero = 32;
/// What a hint is worth.
constexpr std::size_t kHintLines = 16;

void check_share(double share, const char* name) {
  if (!(share >= 0 && share <= 1))
    throw ArgumentError(std::string("sparse rule: expected ") + name + " in 0 … 1, found " +
                        std::to_string(share));
}

bool is_dense(const codec::ZeroCount& own) {
  return own.elements > 0 && own.zeros * kElementsPerZero < own.elements;
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

SparseOperation::SparseOperation(const Call& call, std::shared_ptr<const SparseRule> rule, Programs programs)
    : call_(call),
      key_(tag_of(0, call.signature).digest),
      rule_(std::move(rule)),
      programs_(std::move(programs)),
      input_bytes_(static_cast<std::size_t>(programs_(Way::dense)->bytes[static_cast<int>(Region::input)])) {}

/// Who has come to the end of the look knows that all have come and agree: everybody's figures are in the sum.
void SparseOperation::execute(const Stage& stage) {
  if (call_.watch->is_due(key_)) {
    seen_ = look(stage).density(call_.is_summed);
    return run(way(*seen_), call_.buffers, call_.arithmetic, stage);
  }
  const bool hints =
      stage.executor->carries_hints() && call_.signature.everybody_depends_on_everybody(stage.rank_count);
  if (hints) hint(stage.executor, stage.rank_count);
  run(way(call_.watch->density(key_)), call_.buffers, call_.arithmetic, stage);
  is_hinted_ = hints && is_hinted(*stage.executor);
}

void SparseOperation::succeeded() {
  if (seen_)
    call_.watch->note_look(key_, *seen_, rule_->pause, way(*seen_) != way(call_.watch->density(key_)));
  else
    call_.watch->note(key_, is_hinted_);
}

/// One rank is enough to make a sum dense, or to bring zeros worth leaving out where all is only copied.
void SparseOperation::hint(Executor* executor, int rank_count) const {
  const codec::ZeroCount own = sample(kHintLines);
  if (call_.is_summed ? is_dense(own) : own.zeros * kElementsPerZero >= own.elements * rank_count)
    executor->spread_hint();
}

bool SparseOperation::is_hinted(const Executor& executor) const {
  const bool seems_dense = executor.has_hint() == call_.is_summed;
  return seems_dense != (way(call_.watch->density(key_)) == Way::dense);
}

codec::ZeroCount SparseOperation::sample(std::size_t most_lines) const {
  if (call_.buffers.input == nullptr) return {};
  const BlockMemory& blocks = call_.buffers.input_blocks;  // one tells enough
  return codec::sample_zeros(call_.buffers.input, input_bytes_ / (blocks ? blocks->size() : 1),
                             codec::element_bytes(call_.arithmetic.dtype), most_lines);
}

SeenZeros SparseOperation::look(const Stage& stage) {
  const codec::ZeroCount own = sample(codec::kMostSampledLines);
  const std::array<std::int64_t, kFigures> mine{own.zeros, own.elements, is_dense(own) ? 1 : 0};
  std::array<std::int64_t, kFigures> sum{};
  run(Way::exchange,
      {reinterpret_cast<const std::byte*>(mine.data()), reinterpret_cast<std::byte*>(sum.data())},
      {DType::int64, Op::sum, 1}, stage);
  stage.executor->begin_operation();  // what follows works in other buffers
  return {sum[0], sum[1], sum[2]};
}

SparseOperation::Way SparseOperation::way(double density) const {
  if (density < rule_->without_fill_in_below) return Way::without_fill_in;
  return density < rule_->coded_below ? Way::coded : Way::dense;
}

void SparseOperation::run(Way way, const Buffers& buffers, const Arithmetic& arithmetic, const Stage& stage) {
  ran_.push_back(programs_(way));
  stage.executor->choose_formats_by(rule_->costs);
  stage.executor->execute(*ran_.back(), buffers, arithmetic, stage.supervisor);
}

}  // namespace hemiola
