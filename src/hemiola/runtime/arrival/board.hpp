// Where the ranks of one communicator tell each other, in shared memory, which operation they have come to. No rank
// waits here for another: one that is early reads what is there and looks again later.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hemiola/base/index.hpp"
#include "hemiola/runtime/arrival/signature.hpp"

namespace hemiola {

/// Why a rank has given the communicator up; the others raise the error of the same name.
enum class Failure : std::uint32_t { none, lost_rank, timeout, interrupted };

/// Now, in nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
std::int64_t monotonic_ns();

/// Operations are numbered from 0 by each rank's own count. A rank publishes operation g+2 only when all others have
/// completed operation g, so two entries per rank, used in turn, are enough.
class ArrivalBoard {
 public:
  static std::size_t region_bytes(int rank_count);
  /// `region` is zero-filled at first, shared by all ranks, aligned to a cache line, and outlives the board.
  ArrivalBoard(std::span<std::byte> region, Rank self, int rank_count);

  int rank_count() const { return rank_count_; }
  Rank self() const { return self_; }

  /// Says that this rank has come to operation `number`. `complaint`: the caller's arguments were wrong, and how.
  void publish(std::uint64_t number, const Signature& signature, const std::string& complaint = {});

  bool has_arrived(Rank rank, std::uint64_t number) const;
  /// For a rank that has arrived: throws MismatchError, naming both ranks and both values, unless its signature is
  /// `own` and it has no complaint.
  void check_agreement(Rank rank, std::uint64_t number, const Signature& own) const;
  /// For a rank that has arrived: when it did, in nanoseconds of CLOCK_MONOTONIC.
  std::int64_t arrival_ns(Rank rank, std::uint64_t number) const;

  /// Says that this rank is waiting, not stopped; called now and then during an operation.
  void beat();
  /// When the rank last arrived or said so, in nanoseconds of CLOCK_MONOTONIC.
  std::int64_t last_sign_ns(Rank rank, std::uint64_t number) const;

  /// Says that this rank needs nothing more from the others for operation `number`, so it may exit.
  void complete(std::uint64_t number);
  bool has_completed(Rank rank, std::uint64_t number) const;

  /// Says that this rank will take no further part, and why; the others find it by `failure`.
  void give_up(Failure failure, const std::string& text);
  struct GivenUp {
    Rank rank;
    Failure failure;
    std::string text;
  };
  std::optional<GivenUp> given_up() const;

 private:
  struct Entry;
  struct State;
  struct RankBlock;

  const Entry& entry(Rank rank, std::uint64_t number) const;
  RankBlock& block(Rank rank) const;

  RankBlock* blocks_;
  Rank self_;
  int rank_count_;
};

}  // namespace hemiola
