// SPDX-License-Identifier: Apache-2.0
// Turns a user's call into an operation: checks the arguments, finds the schedule and its program, and remembers both,
// so that repeating a call costs next to nothing.
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

#include "hemiola/runtime/adaptation/findings.hpp"
#include "hemiola/runtime/communicator/call_key.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"
#include "hemiola/runtime/communicator/prepared_call.hpp"
#include "hemiola/runtime/operation/common_choice.hpp"
#include "hemiola/runtime/operation/late_programs.hpp"
#include "hemiola/runtime/operation/sparse_course.hpp"

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
  /// By block, where these differ; null: all have one size.
  std::shared_ptr<const std::vector<std::int64_t>> block_elements = {};

  std::int64_t element_count() const;
  std::int64_t byte_count() const { return element_count() * static_cast<std::int64_t>(bytes_of(dtype)); }
};

/// The request of one rank. `input` is its contribution, and `output` is the place of its result. A rank without one of
/// them in a rooted collective leaves it out. Both may be the same memory, or one the rank's own block of the other.
struct Call {
  OperationKind kind = OperationKind::barrier;
  Op op = Op::sum;
  double factor = 1;  ///< of a premul_sum: this rank's own
  std::int64_t root = 0;
  SparseMode sparse = SparseMode::no;
  std::optional<ArrayView> input;
  std::optional<ArrayView> output;
  std::optional<ArrayView> rest = {};  ///< of eight bits: as of Rounding
  std::shared_ptr<const std::vector<bool>> rounds_to = {};
  std::shared_ptr<const Schedule> schedule;  ///< null: choose one
  std::string algorithm;                     ///< then of this name; empty: any
  bool has_blocks_of_any_size = false;       ///< lists may have arrays of any sizes
  /// Of such an all_to_all: the elements of all blocks, by giver, then taker. Null: its schedule's weights say these (see
  /// kBlocksByWeight).
  std::shared_ptr<const std::vector<std::int64_t>> block_table = {};
  double timeout_s = 0;   ///< 0: the communicator's
  std::string complaint;  ///< of the caller: its arguments cannot even be written here
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

 private:
  using Key = CallKey;
  struct Prepared {
    Findings found;  ///< for which
    ProgramSource source;
    std::uint64_t digest = 0;
    std::optional<LateRule> late;
    std::optional<LateOutlook> outlook;
    std::shared_ptr<const SparseRule>
        sparse;  ///< null: nobody looks for zeros, or all messages leave them out
    Coding coding = Coding::none;
    std::shared_ptr<const Program> program;
    Arithmetic arithmetic;
  };

  /// The conditions of an all-reduce's programs for late ranks: the plain program, and the signature.
  using LateKey = std::pair<const Program*, std::uint64_t>;

  /// The time in which a schedule must be found, and the check that may interrupt it.
  struct Patient {
    double timeout_s;
    const Check& check;
  };

  void fill(const Call& call, const Check& check, PreparedCall* to);
  PreparedCall renew(const PreparedCall& call, const Check& check);
  void make_operation(const std::shared_ptr<const Schedule>& schedule, const Check& check, PreparedCall* of);
  const Prepared& look_up(const PreparedCall& call, const std::shared_ptr<const Schedule>& schedule,
                          const Patient& patient);
  Prepared make(const PreparedCall& call, const std::shared_ptr<const Schedule>& schedule,
                const Patient& patient);
  void choose(const PreparedCall& call, const Patient& patient, Prepared* made);
  Prepared made_for_one_size(const PreparedCall& call, const std::shared_ptr<const Schedule>& schedule,
                             const Patient& patient);
  Findings findings(const Key& key, const Signature& call) const;
  Bytes agreed_recipe(Question* question, const Key& key, const Signature& call, const Patient& patient);
  Selection followed(const Bytes& recipe, const Question& question) const;
  void seek_late_rank(const Prepared& prepared, PreparedCall* of);
  std::shared_ptr<LatePrograms> late_programs(const Prepared& prepared, const PreparedCall& call);
  SparseCourse::Programs sparse_programs(const Prepared& prepared, const Key& key);
  const std::string* interned(const std::string& algorithm);
  double timeout_of(double asked_for_s) const;
  std::uint64_t digest(const ProgramSource& source);

  static constexpr std::size_t kMaxPrepared = 1024;
  static constexpr std::size_t kMaxDigests = 256;
  static constexpr std::size_t kMaxLate = 16;

  Communicator* communicator_;
  Chooser chooser_;
  CommonChoice choice_;

  std::mutex mutex_;                  ///< guards the rest
  std::set<std::string> algorithms_;  ///< one copy of each name
  std::map<Key, Prepared> prepared_;
  const std::pair<const Key, Prepared>* latest_ = nullptr;
  std::optional<std::pair<const Key, Prepared>>
      of_one_call_;  ///< the latest of these; earlier ones are forgotten
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
