// Turns a user's call into an Operation: checks the arguments, finds the schedule and its program, and remembers
// what it found, so that repeating a call costs next to nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "hemiola/runtime/communicator/call_key.hpp"
#include "hemiola/runtime/communicator/communicator.hpp"

namespace hemiola {

/// An array as the user passes it.
struct ArrayView {
  std::byte* data = nullptr;
  DType dtype = DType::uint8;
  std::span<const std::int64_t> shape;
  bool contiguous = true;  ///< in C order
  bool writable = true;

  std::int64_t element_count() const;
  std::int64_t byte_count() const { return element_count() * static_cast<std::int64_t>(bytes_of(dtype)); }
};

/// What one rank asks for. `input` is what it brings, `output` where its result goes; whoever brings (gets) nothing
/// in a rooted collective leaves it out. Both may be the same memory, or one the rank's own block of the other.
struct Call {
  OperationKind kind = OperationKind::barrier;
  Op op = Op::sum;
  std::int64_t root = 0;
  std::optional<ArrayView> input;
  std::optional<ArrayView> output;
  std::shared_ptr<const Schedule> schedule;  ///< null: choose one
  std::optional<LateRule>
      late;               ///< of an all-reduce that is to find its late rank; then `schedule` is late->plain
  double timeout_s = 0;   ///< 0: the communicator's
  std::string complaint;  ///< of whoever made the call: its arguments cannot even be written here
};

/// What is to run for a call that leaves it to us.
struct Choice {
  ProgramSource source;
  /// For an all-reduce: how to find a late rank where that pays; with a forecast.
  std::optional<LateRule> late;
};

class CallDesk {
 public:
  /// Chooses for a collective over `byte_count` bytes (of the whole buffer, or of the larger of input and output)
  /// while ports are slow by those factors. The same on all ranks.
  using Chooser = std::function<Choice(CollectiveKind kind, std::int64_t byte_count, Rank root,
                                       const std::map<Rank, double>& slow)>;

  CallDesk(Communicator* communicator, Chooser chooser)
      : communicator_(communicator), chooser_(std::move(chooser)) {}

  /// An operation with a complaint when the arguments are wrong: it must be run all the same, so that the other
  /// ranks learn of it.
  Operation prepare(const Call& call);
  /// Chooses again for an operation, as conditions are now; a complaint where that fails. Like `prepare` not to be
  /// called by two threads at a time.
  void renew(Operation* operation);

 private:
  using Key = CallKey;
  struct Prepared {
    ProgramSource source;
    std::uint64_t digest = 0;
    std::optional<LateRule> late;
    std::shared_ptr<const Program> program;
    Arithmetic arithmetic;
  };

  /// What decides about an all-reduce's programs for late ranks.
  struct LateKey {
    const Program* plain;
    int segments;
    int chunks_per_owner;
    friend auto operator<=>(const LateKey&, const LateKey&) = default;
  };

  const Prepared& look_up(const Key& key, const Call& call);
  Prepared make(const Key& key, const Call& call);
  void assign(const Prepared& prepared, Operation* operation);
  void prepare_late(const LateRule& rule, Operation* operation);
  void follow_conditions();
  std::uint64_t digest(const ProgramSource& source);

  static constexpr std::size_t kMaxPrepared = 1024;
  static constexpr std::size_t kMaxDigests = 256;
  static constexpr std::size_t kMaxLate = 16;

  Communicator* communicator_;
  Chooser chooser_;
  PortWatch::InForce in_force_;  ///< what `prepared_` was chosen for
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
