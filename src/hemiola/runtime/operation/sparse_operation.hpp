// A collective whose messages may leave zeros out where that pays. Now and then ranks look at some of their elements and
// add up what they have seen; by that all choose the same program, for this operation and those after it. What is found
// dense runs the dense program, and costs nothing beside the look. Between looks a bit on messages that go anyway says
// whether data have changed, and then the next operation looks. See docs/decisions/0018-coded-messages.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "hemiola/codec/costs.hpp"
#include "hemiola/codec/zero_sample.hpp"
#include "hemiola/runtime/operation/density_watch.hpp"
#include "hemiola/runtime/operation/operation.hpp"
#include "hemiola/runtime/operation/program_source.hpp"

namespace hemiola {

/// When leaving zeros out is expected to pay, and by which schedule. Densities are shares of elements that are not zero.
struct SparseRule {
  double coded_below = 0;              ///< below it messages of the chosen schedule leave zeros out; 0: never
  ProgramSource without_fill_in = {};  ///< runs instead where ...
  double without_fill_in_below = 0;    ///< ... the density is less than that
  ProgramSource exchange = {};         ///< an all-reduce, by which ranks add up what they see
  int pause = 64;                      ///< they look before one operation in so many of a signature
  codec::CostsOfUse costs = {};        ///< of messages, by which this rank chooses their formats

  /// Throws ArgumentError for what is out of range.
  void check() const;
};

class SparseOperation final : public Operation {
 public:
  enum class Way : std::uint8_t {
    dense,            ///< the chosen schedule
    coded,            ///< the same, its messages leaving zeros out
    without_fill_in,  ///< the rule's other schedule, its messages leaving zeros out
    exchange,         ///< of SeenZeros, out of place
  };
  /// Of int64, whose sums the exchange makes.
  static constexpr std::int64_t kFigures = 3;
  /// The program of a way, compiled when it is first asked for.
  using Programs = std::function<std::shared_ptr<const Program>(Way)>;

  /// What is called, and whether its result is made of sums. `watch`, of the communicator, outlives the operation.
  struct Call {
    Signature signature;
    Buffers buffers;
    Arithmetic arithmetic;
    bool is_summed = false;
    DensityWatch* watch = nullptr;
  };
  SparseOperation(const Call& call, std::shared_ptr<const SparseRule> rule, Programs programs);

  Signature signature() const override { return call_.signature; }
  void execute(const Stage& stage) override;
  void succeeded() override;
  /// Whether it would run the chosen schedule as it is, as far as is known before a look; the same on all ranks.
  bool sends_all() const override { return way(call_.watch->density(key_)) == Way::dense; }

 private:
  SeenZeros look(const Stage& stage);
  codec::ZeroCount sample(std::size_t most_lines) const;
  Way way(double density) const;
  void hint(Executor* executor, int rank_count) const;
  bool is_hinted(const Executor& executor) const;
  void run(Way way, const Buffers& buffers, const Arithmetic& arithmetic, const Stage& stage);

  Call call_;
  std::uint64_t key_;  ///< of the call, by which the watch knows it
  std::shared_ptr<const SparseRule> rule_;
  Programs programs_;
  std::size_t input_bytes_;
  std::optional<double> seen_;                       ///< the density, where ranks have looked
  bool is_hinted_ = false;                           ///< where they have not: at another way than they went
  std::vector<std::shared_ptr<const Program>> ran_;  ///< an operation's programs must outlive it
};

}  // namespace hemiola
