// SPDX-License-Identifier: Apache-2.0
// The registry's entry of one algorithm: its source, validity and cost, the chunk or segment counts that are
// worth trying, and how to make its schedule. Where the rank count decides everything, the cost is counted in
// pieces, so that it is exact; only `seconds` is not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hemiola/algorithms/function.hpp"
#include "hemiola/algorithms/task.hpp"
#include "hemiola/schedule/schedule.hpp"

namespace hemiola::algorithms {

/// An algorithm's publication: a key of docs/references.bib and its name for readers.
struct Paper {
  std::string_view key;
  std::string_view citation;
};

/// The condition that an algorithm must know beside the rank count: the late rank, the slow ones, or the
/// topology.
enum class Needs : std::uint8_t { nothing, late, slow, topology };

/// "", "late", "slow" or "topology".
std::string_view name_of(Needs needs);

/// How people choose the chunk count of a pipelined algorithm; empty: its default.
using ChunkCount = std::optional<std::int64_t>;

/// The request to generate(), checked.
struct Request {
  int rank_count = 1;
  Rank root{0};         ///< rooted collectives only
  int chunk_count = 0;  ///< pipelined algorithms only
};

/// Exact cost for one rank count on a one-port network, where in each step a rank sends through one port and
/// receives through it. One piece is 1/piece_count of a rank's buffer. Schedule and cost agree transfer by
/// transfer; tests derive the one from the other.
struct Cost {
  std::int64_t step_count = 0;
  std::int64_t transfer_count = 0;
  std::int64_t piece_count = 1;
  std::int64_t sent = 0;        ///< pieces that the busiest rank sends
  std::int64_t serialized = 0;  ///< sum over the steps of the pieces that pass the busiest port in that step
  std::int64_t further_messages =
      0;  ///< sum over the steps of the messages but one that pass the busiest port in that step
};

/// One entry of the registry. Where it needs nothing but a rank count, `cost` and `generate` say everything; else
/// `functions`, `why_not` and `variants` do.
struct Algorithm {
  /// No schedule has more transfers than this, so that a mistyped rank count cannot exhaust memory.
  static constexpr std::int64_t kMaxTransfers = std::int64_t{1} << 28;

  /// <collective>_<pattern>[_<variant>], the same in C++, Python, the CLI and the docs.
  std::string_view name;
  CollectiveKind kind;
  Paper paper;
  std::string_view idea;   ///< one sentence
  std::string_view sizes;  ///< valid rank counts, in words

  // Cost in symbols for n >= 2 ranks (one needs no step), evaluated by the tests. N: bytes of one rank's
  // buffer; α: latency; β: 1/bandwidth; K: the chosen chunk count; p: the largest power of two <= n;
  // f: n - p; S: Σ min(2^k, f) for k = 0 … log2 p - 1; B: bits set in 0 … n-1 together; [f>0]: 1 or 0.
  std::string_view chunks_formula;
  std::string_view steps_formula;
  std::string_view bytes_formula;  ///< sent by the busiest rank
  std::string_view formula;        ///< seconds on a one-port network

  /// For checked arguments; others call the methods below. Null where `needs` says that a rank count is not enough.
  Cost (*cost)(int rank_count, int chunk_count) = nullptr;
  Schedule (*generate)(const Request& request) = nullptr;

  /// Null unless the buffer is cut into a chosen number of chunks that follow each other through the network.
  int (*default_chunk_count)(int rank_count) = nullptr;
  int chunk_count_multiple = 1;  ///< a chosen chunk count must be a multiple of it

  Needs needs = Needs::nothing;
  /// The first makes the schedule and has the algorithm's name; then its companions, such as the same rank by
  /// rank. Empty where a rank count is enough: see functions_of().
  std::vector<Function> functions = {};
  /// The reason why it cannot run a task of its kind that states its function's requirements, and a topology
  /// where it is made for one; empty where it can.
  std::string (*why_not)(const Task& task) = nullptr;
  /// The variants worth trying for a task that it can run, for algorithms with a formula. Nothing where a
  /// simpler algorithm is as good, or where making the schedule would take longer than a plan may.
  std::vector<Variant> (*variants)(const Task& task) = nullptr;

  bool is_pipelined() const { return default_chunk_count != nullptr; }
  /// Whether the rank count is enough, and gives a schedule of at most kMaxTransfers.
  bool is_valid(std::int64_t rank_count) const;

  // The following throw ArgumentError for an algorithm that needs more than a rank count, for an invalid rank
  // count, and for a root that does not exist. Also for a chunk count below 1, no multiple of
  // chunk_count_multiple or given to an algorithm that is not pipelined.

  Cost cost_of(std::int64_t rank_count, ChunkCount chunk_count = {}) const;
  std::int64_t step_count(std::int64_t rank_count, ChunkCount chunk_count = {}) const;
  /// Bytes that the busiest rank sends, rounded up where nbytes does not divide.
  std::int64_t bytes_per_rank(std::int64_t rank_count, std::int64_t nbytes,
                              ChunkCount chunk_count = {}) const;
  Schedule schedule(std::int64_t rank_count, std::int64_t root = 0, ChunkCount chunk_count = {}) const;
};

inline constexpr std::string_view kAnyRankCount = "any n ≥ 1";

/// An algorithm's functions, the maker of its schedule first; the registry's entry must outlive it.
std::vector<Function> functions_of(const Algorithm& algorithm);

/// step_count·α + serialized bytes·β: every step costs one latency and the time of its busiest port, and
/// further messages their own cost to the port.
double seconds(const Cost& cost, std::int64_t nbytes, PortSpeed port);

/// The chunk count, at most 4096, at which a pipelined algorithm's formula is smallest; empty for others.
ChunkCount best_chunk_count(const Algorithm& algorithm, std::int64_t rank_count, std::int64_t nbytes,
                            PortSpeed port);

}  // namespace hemiola::algorithms
