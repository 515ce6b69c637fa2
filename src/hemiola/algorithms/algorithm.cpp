// SPDX-License-Identifier: Apache-2.0
#include "hemiola/algorithms/algorithm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "hemiola/base/error.hpp"

namespace hemiola::algorithms {
namespace {

constexpr std::int64_t kMaxChosenChunks = 4096;
constexpr std::array<std::string_view, 4> kNeeds{"", "late", "slow", "topology"};  // in the order of Needs

void check_needs(const Algorithm& algorithm) {
  if (algorithm.needs == Needs::nothing) return;
  throw ArgumentError(std::string(algorithm.name) +
                      ": its schedule and cost depend on more than the rank count (" +
                      std::string(name_of(algorithm.needs)) + "); call the function of that name");
}

void check_rank_count(const Algorithm& algorithm, std::int64_t rank_count) {
  if (rank_count < 1 || rank_count > Collective::kMaxRanks)
    throw ArgumentError(std::string(algorithm.name) + ": expected 1 … " +
                        std::to_string(Collective::kMaxRanks) + " ranks, found " +
                        std::to_string(rank_count));
}

void check_chunk_count(const Algorithm& algorithm, ChunkCount chunk_count) {
  if (!chunk_count) return;
  const std::string where = std::string(algorithm.name) + ": ";
  if (!algorithm.is_pipelined())
    throw ArgumentError(where + "its chunks follow from the rank count; leave out chunk_count, found " +
                        std::to_string(*chunk_count));
  if (*chunk_count < 1 || *chunk_count > Collective::kMaxChunks ||
      *chunk_count % algorithm.chunk_count_multiple != 0)
    throw ArgumentError(
        where + "expected a chunk_count in " + std::to_string(algorithm.chunk_count_multiple) + " … " +
        std::to_string(Collective::kMaxChunks) + " that is a multiple of " +
        std::to_string(algorithm.chunk_count_multiple) + ", found " + std::to_string(*chunk_count));
}

void check_transfers(const Algorithm& algorithm, std::int64_t rank_count, const Cost& cost) {
  if (cost.transfer_count > Algorithm::kMaxTransfers)
    throw ArgumentError(std::string(algorithm.name) + ": " + std::to_string(rank_count) +
                        " ranks would need " + std::to_string(cost.transfer_count) +
                        " transfers, expected at most " + std::to_string(Algorithm::kMaxTransfers) +
                        "; choose an algorithm with fewer transfers");
}

int chosen_or_default(const Algorithm& algorithm, std::int64_t rank_count, ChunkCount chunk_count) {
  if (!algorithm.is_pipelined()) return 0;
  if (chunk_count) return static_cast<int>(*chunk_count);
  return algorithm.default_chunk_count(static_cast<int>(rank_count));
}

/// The docstring of the function that makes an entry's schedule from a rank count.
std::string document(const Algorithm& a) {
  std::string text =
      std::string(a.idea) + "\n\nParameters\n----------\nrank_count : int, " + std::string(a.sizes) + ".\n";
  if (is_rooted(a.kind)) text += "root : int, 0 … rank_count-1.\n";
  if (a.is_pipelined())
    text += "chunk_count : int, a multiple of " + std::to_string(a.chunk_count_multiple) +
            "; None takes the default for the rank count.\n";
  text +=
      "\nReturns\n-------\nSchedule\n\nRaises\n------\nArgumentError\n    if an argument is not valid.\n\n";
  return text +
         "Notes\n-----\nCost, in the symbols of docs/reference/algorithms.md: " + std::string(a.formula) +
         ".\nSource: " + std::string(a.paper.citation) + " [" + std::string(a.paper.key) + "].";
}

/// The function of an algorithm for which a rank count is enough, with the keywords that make sense for it.
Function from_rank_count(const Algorithm& a) {
  const Algorithm* entry = &a;
  const auto make = [&](std::vector<Parameter> more, auto typed) {
    more.insert(more.begin(), required("rank_count"));
    return function(std::string(a.name), std::move(more), document(a), typed);
  };
  const Parameter root = keyword(optional("root", 0)), chunks = keyword(optional("chunk_count"));
  using Count = std::int64_t;
  if (is_rooted(a.kind) && a.is_pipelined())
    return make({root, chunks}, [entry](Count n, Count at, std::optional<Count> chunk_count) {
      return entry->schedule(n, at, chunk_count);
    });
  if (is_rooted(a.kind)) return make({root}, [entry](Count n, Count at) { return entry->schedule(n, at); });
  if (a.is_pipelined())
    return make({chunks}, [entry](Count n, std::optional<Count> chunk_count) {
      return entry->schedule(n, 0, chunk_count);
    });
  return make({}, [entry](Count n) { return entry->schedule(n); });
}

}  // namespace

std::vector<Function> functions_of(const Algorithm& algorithm) {
  if (!algorithm.functions.empty()) return algorithm.functions;
  return {from_rank_count(algorithm)};
}

std::string_view name_of(Needs needs) {
  return kNeeds[static_cast<std::size_t>(needs)];
}

bool Algorithm::is_valid(std::int64_t rank_count) const {
  if (needs != Needs::nothing || rank_count < 1 || rank_count > Collective::kMaxRanks) return false;
  const int n = static_cast<int>(rank_count);
  return cost(n, chosen_or_default(*this, n, {})).transfer_count <= kMaxTransfers;
}

Cost Algorithm::cost_of(std::int64_t rank_count, ChunkCount chunk_count) const {
  check_needs(*this);
  check_rank_count(*this, rank_count);
  check_chunk_count(*this, chunk_count);
  const Cost found = cost(static_cast<int>(rank_count), chosen_or_default(*this, rank_count, chunk_count));
  check_transfers(*this, rank_count, found);
  return found;
}

std::int64_t Algorithm::step_count(std::int64_t rank_count, ChunkCount chunk_count) const {
  return cost_of(rank_count, chunk_count).step_count;
}

std::int64_t Algorithm::bytes_per_rank(std::int64_t rank_count, std::int64_t nbytes,
                                       ChunkCount chunk_count) const {
  if (nbytes < 0)
    throw ArgumentError(std::string(name) + ": expected a buffer of at least 0 bytes, found " +
                        std::to_string(nbytes));
  const Cost found = cost_of(rank_count, chunk_count);
  const auto scaled = static_cast<__int128>(found.sent) * nbytes + found.piece_count - 1;
  return static_cast<std::int64_t>(scaled / found.piece_count);
}

Schedule Algorithm::schedule(std::int64_t rank_count, std::int64_t root, ChunkCount chunk_count) const {
  cost_of(rank_count, chunk_count);
  if (root < 0 || root >= rank_count || (root != 0 && !is_rooted(kind)))
    throw ArgumentError(std::string(name) + ": expected " +
                        (is_rooted(kind) ? "a root in 0 … " + std::to_string(rank_count - 1) : "no root") +
                        ", found root " + std::to_string(root));
  return generate(
      {static_cast<int>(rank_count), Rank{root}, chosen_or_default(*this, rank_count, chunk_count)});
}

double seconds(const Cost& cost, std::int64_t nbytes, PortSpeed port) {
  if (nbytes < 0)
    throw ArgumentError("expected a buffer of at least 0 bytes, found " + std::to_string(nbytes));
  if (!(std::isfinite(port.latency_s) && port.latency_s >= 0))
    throw ArgumentError("expected a finite latency of at least 0 s, found " + std::to_string(port.latency_s));
  if (!(std::isfinite(port.message_s) && port.message_s >= 0))
    throw ArgumentError("expected a finite cost of a message of at least 0 s, found " +
                        std::to_string(port.message_s));
  if (!(std::isfinite(port.bandwidth_Bps) && port.bandwidth_Bps > 0))
    throw ArgumentError("expected a finite bandwidth above 0 B/s, found " +
                        std::to_string(port.bandwidth_Bps));
  const auto scaled = static_cast<double>(static_cast<__int128>(cost.serialized) * nbytes);
  const double bytes = scaled / static_cast<double>(cost.piece_count);
  return static_cast<double>(cost.step_count) * port.latency_s + bytes / port.bandwidth_Bps +
         static_cast<double>(cost.further_messages) * port.message_s;
}

ChunkCount best_chunk_count(const Algorithm& algorithm, std::int64_t rank_count, std::int64_t nbytes,
                            PortSpeed port) {
  if (!algorithm.is_pipelined()) return {};
  const std::int64_t multiple = algorithm.chunk_count_multiple;
  const auto time = [&](std::int64_t groups) {
    return seconds(algorithm.cost_of(rank_count, groups * multiple), nbytes, port);
  };
  // The time falls, then rises: steps grow with the chunk count, serialized bytes shrink with it.
  std::int64_t low = 1;
  std::int64_t high = kMaxChosenChunks / multiple;
  const auto transfers = [&](std::int64_t groups) {
    return algorithm.cost(static_cast<int>(rank_count), static_cast<int>(groups * multiple)).transfer_count;
  };
  while (high > 1 && transfers(high) > Algorithm::kMaxTransfers) high /= 2;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (time(middle) <= time(middle + 1))
      high = middle;
    else
      low = middle + 1;
  }
  return low * multiple;
}

}  // namespace hemiola::algorithms
