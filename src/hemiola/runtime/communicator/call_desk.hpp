// Turns a user's call into an operation: checks the arguments, finds the schedule and its program, and remembers what it
// found, so that repeating a call costs next to nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "hemiola/runtime/communicator/call_key.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"
#include "hemiola/runtime/communicator/prepared_call.hpp"
#include "hemiola/runtime/late/late_habits.hpp"
#include "hemiola/runtime/late/late_watch.hpp"
#include "hemiola/runtime/operation/common_choice.hpp"
#include "hemiola/runtime/operation/late_programs.hpp"
#include "hemiola/runtime/operation/plain_operation.hpp"

namespace hemiola {

/// An array as the user passes it.
struct ArrayView {
  std::byte* data = nullptr;
  DType dtype = DType::uint8;
  std::span<const std::int64_t> shape;
  bool contiguous = true;  ///< in C order
  BlockMemory blocks =
      {};  ///< where it is a list of arrays; `data` is the first one's, the first axis counts them
  bool writable = true;

  std::int64_t element_count() const;
  std::int64_t byte_count() const { return element_count() * static_cast<std::int64_t>(bytes_of(dtype)); }
};

/// What one rank asks for. `input` is what it brings, `output` where its result goes; whoever brings (gets) nothing
/// in a rooted collective leaves it out. Both may be the same memory, or one the rank's own block of the other.
struct Call {
  OperationKind kind = OperationKind::barrier;
  Op op = Op::sum;
  double factor = 1;  ///< of a premul_sum: this rank's own
  std::int64_t root = 0;
  SparseMode sparse = SparseMode::no;
  std::optional<ArrayView> input;
  std::optional<ArrayView> output;
  std::shared_ptr<const Schedule> schedule;  ///< null: choose one
  std::string algorithm;                     ///< then of this name; empty: any
  double timeout_s = 0;                      ///< 0: the communicator's
  std::string complaint;  ///< of whoever made the call: its arguments cannot even be written here
};

/// Any thread may call anything.
class CallDesk {
 public:
  CallDesk(Communicator* communicator, Chooser chooser);

  /// Called now and then while another rank chooses; throws to abort.
  using Check = CommonChoice::Check;

  /// With a complaint when the arguments are wrong: the call must be run all the same, so that the other ranks learn of
  /// it. Blocks while another rank chooses the schedule. Throws LostRankError or TimeoutError, which end the
  /// communicator, where that one does not get to it.
  PreparedCall prepare(const Call& call, const Check& interrupted);

  /// The words in which a collective's schedule has been chosen for all ranks, by this one if nobody has asked before.
  Bytes recipe(CollectiveKind kind, std::int64_t byte_count, Rank root, const Check& interrupted);

  /// Whether an all-reduce of so many bytes that leaves the choice to us would look for a late rank now, or be planned for one.
  bool expects_late_rank(std::int64_t bytes, const Check& interrupted) {
    return communicator_->between_operations(
        [&] { return lateness_.pays(bytes) || late_habits_.pays(bytes); }, interrupted);
  }

 private:
  using Key = CallKey;
  struct Prepared {
    ProgramSource source;
    std::uint64_t digest = 0;
    std::optional<LateRule> late;
    std::optional<LateOutlook> outlook;  ///< where it is planned for whom is expected to be late
    std::shared_ptr<const SparseRule>
        sparse;  ///< null: nobody looks for zeros, or all messages leave them out
    std::shared_ptr<const Program> program;
    Arithmetic arithmetic;
  };

  /// What decides about an all-reduce's programs for late ranks.
  struct LateKey {
    const Program* plain;
    int segments;
    int chunks_per_owner;
    bool has_hosts;
    friend auto operator<=>(const LateKey&, const LateKey&) = default;
  };

  /// How long finding out what to run may take, and who may interrupt it.
  struct Patient {
    double timeout_s;
    const Check& check;
  };

  void fill(const Call& call, const Check& check, PreparedCall* to);
  PreparedCall renew(const PreparedCall& call, const Check& check);
  void make_operation(const std::shared_ptr<const Schedule>& schedule, const Check& check, PreparedCall* of);
  const Prepared& look_up(const Key& key, const std::shared_ptr<const Schedule>& schedule,
                          const Patient& patient);
  Prepared make(const Key& key, const std::shared_ptr<const Schedule>& schedule, const Patient& patient);
  Bytes agreed_recipe(Question* question, const Patient& patient);
  Selection followed(const Bytes& recipe, const Question& question) const;
  std::unique_ptr<Operation> late_operation(const Prepared& prepared, const Key& key, PlainOperation plain,
                                            std::unique_ptr<SparseOperation> sparse);
  std::unique_ptr<SparseOperation> sparse_operation(const Prepared& prepared, const PreparedCall& call,
                                                    const Signature& signature);
  const std::string* interned(const std::string& algorithm);
  LateRank expected_late(const Key& key) const;
  double timeout_of(double asked_for_s) const;
  void follow_conditions();
  std::uint64_t digest(const ProgramSource& source);

  static constexpr std::size_t kMaxPrepared = 1024;
  static constexpr std::size_t kMaxDigests = 256;
  static constexpr std::size_t kMaxLate = 16;

  Communicator* communicator_;
  Chooser chooser_;
  CommonChoice choice_;
  LateWatch lateness_;      ///< told by operations, of which one runs at a time
  LateHabits late_habits_;  ///< told by these
  DensityWatch densities_;  ///< asked and told by these

  std::mutex mutex_;                  ///< guards the rest
  PortWatch::InForce in_force_;       ///< what `prepared_` was chosen for
  std::set<std::string> algorithms_;  ///< one copy of each name
  std::map<Key, Prepared> prepared_;
  const std::pair<const Key, Prepared>* latest_ = nullptr;
  struct Digest {
    ProgramSource source;  ///< keeps the key's pointer from being used again
    std::uint64_t digest = 0;
  };
  std::map<const void*, Digest> digests_;
  struct Late {
    std::shared_ptr<const Program> plain;  ///< keeps the key's pointer from being used again
    std::shared_ptr<LatePrograms> programs;
  };
  std::map<LateKey, Late> late_;
};

}  // namespace hemiola
