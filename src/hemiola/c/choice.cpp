// SPDX-License-Identifier: Apache-2.0
#include "hemiola/c/choice.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>

#include "hemiola/algorithms/registry.hpp"
#include "hemiola/base/error.hpp"
#include "hemiola/schedule/routes.hpp"
#include "hemiola/simulate/simulate.hpp"

namespace hemiola::c {
namespace {

using algorithms::Algorithm;
using algorithms::Function;
using algorithms::Needs;
using algorithms::Task;
using algorithms::Value;

/// A race simulates so many transfers, the most promising schedules first; an all-reduce of 32 ranks that all send to
/// all has 2,000.
constexpr std::int64_t kMostTransfers = 200'000;
/// Formulas know one kind of port; a schedule that they find so much slower than the best is not simulated.
constexpr double kHopeless = 4;
constexpr std::string_view kChunkCount = "chunk_count";
/// In one step all ranks exchange whole buffers: one latency, for buffers that are small.
constexpr std::string_view kAtOnce = "all_reduce_recursive_multiplying";
constexpr int kMostAtOnce = 64;

bool is_asked(const Algorithm& algorithm, const Question& question) {
  return algorithm.kind == question.kind &&
         (question.algorithm.empty() || question.algorithm == algorithm.name);
}

}  // namespace

std::string Contestant::words() const {
  const std::string name(algorithm->name);
  return parameter.empty() ? name : name + " " + parameter + " " + std::to_string(count);
}

/// As formulas know it: of the slowest link that all ranks of a host may share.
algorithms::PortSpeed Choice::port() const {
  algorithms::PortSpeed port{0, std::numeric_limits<double>::infinity(), 0};
  const int sharing = static_cast<int>(std::ranges::count(hosts_, 0));
  for (const Link& link : network_.links()) {
    const bool is_shared = !network_.is_rank(link.src) && !network_.is_rank(link.dst);
    const double bandwidth = link.bandwidth_Bps / (is_shared ? sharing : 1);
    port.latency_s = std::max(port.latency_s, 2 * to_seconds(link.latency));
    port.bandwidth_Bps = std::min(port.bandwidth_Bps, bandwidth);
    port.message_s = std::max(port.message_s, to_seconds(link.message));
  }
  if (network_.links().empty()) port.bandwidth_Bps = 1;
  port.latency_s += port.message_s;
  return port;
}

std::vector<Contestant> Choice::contestants(const Question& question) const {
  const Task task{question.kind, rank_count(), question.byte_count, port(), {}, question.root, &network_};
  std::vector<Contestant> found;
  for (const Algorithm& algorithm : algorithms::registry()) {
    if (!is_asked(algorithm, question)) continue;
    if (algorithm.needs == Needs::nothing)
      add_pipelined(algorithm, question, &found);
    else if (algorithm.needs == Needs::topology)
      add_placed(algorithm, task, &found);
  }
  return found;
}

/// An algorithm that a rank count is enough for, with its best number of chunks.
void Choice::add_pipelined(const Algorithm& algorithm, const Question& question,
                           std::vector<Contestant>* found) const {
  if (!algorithm.is_valid(rank_count())) return;
  Contestant one{&algorithm};
  const auto chunks = algorithms::best_chunk_count(algorithm, rank_count(), question.byte_count, port());
  if (chunks) one.parameter = kChunkCount, one.count = *chunks;
  const algorithms::Cost cost = algorithm.cost_of(rank_count(), chunks);
  one.formula_s = algorithms::seconds(cost, question.byte_count, port());
  one.transfer_count = cost.transfer_count;
  found->push_back(one);
}

/// An algorithm that knows which ranks share a host.
void Choice::add_placed(const Algorithm& algorithm, const Task& task, std::vector<Contestant>* found) const {
  if (algorithm.name == kAtOnce) {
    const std::int64_t ranks = rank_count();
    if (ranks > 1 && ranks <= kMostAtOnce) found->push_back({&algorithm, {}, 0, 0, 2 * ranks * ranks});
    return;
  }
  if (algorithm.variants == nullptr || algorithm.why_not == nullptr || !algorithm.why_not(task).empty())
    return;
  for (const algorithms::Variant& variant : algorithm.variants(task)) {
    const Contestant one{&algorithm, variant.parameter, variant.count, variant.formula_s,
                         variant.transfer_count};
    const Function& function = algorithm.functions.front();
    if (!arguments(function, one).empty()) found->push_back(one);
  }
}

/// A value for each parameter; none where one is required that nothing here says.
std::vector<Value> Choice::arguments(const Function& function, const Contestant& contestant) const {
  std::vector<int> sizes(at(1 + *std::ranges::max_element(hosts_)));
  for (const int host : hosts_) ++sizes[at(host)];
  std::vector<Value> values;
  for (const algorithms::Parameter& parameter : function.parameters) {
    if (parameter.name == contestant.parameter)
      values.emplace_back(contestant.count);
    else if (parameter.name == "nodes")
      values.emplace_back(static_cast<std::int64_t>(sizes.size()));
    else if (parameter.name == "ranks_per_node")
      values.emplace_back(sizes);
    else if (parameter.name == "node_of_rank")
      values.emplace_back(hosts_);
    else if (parameter.name == "dims")
      values.emplace_back(std::vector{rank_count()});
    else if (parameter.name == "wires")
      values.emplace_back(std::vector<std::string>{"switch"});
    else if (parameter.fallback)
      values.push_back(*parameter.fallback);
    else
      return {};
  }
  return values;
}

Schedule Choice::made(const Contestant& contestant, const Question& question) const {
  const Algorithm& algorithm = *contestant.algorithm;
  if (algorithm.needs == Needs::nothing) {
    const auto chunks =
        contestant.parameter.empty() ? algorithms::ChunkCount{} : algorithms::ChunkCount(contestant.count);
    return algorithm.schedule(rank_count(), question.root, chunks);
  }
  const Function& function = algorithm.functions.front();
  return std::get<Schedule>(function.call(arguments(function, contestant)));
}

std::string Choice::decide(const Question& question) const {
  std::vector<Contestant> found = contestants(question);
  if (found.empty())
    throw ArgumentError("nothing known runs " + std::string(name_of(question.kind)) + " on " +
                        std::to_string(rank_count()) + " ranks");
  std::ranges::stable_sort(found, {}, &Contestant::formula_s);
  const Contestant* winner = nullptr;
  Picoseconds best = 0;
  std::int64_t simulated = 0;
  std::optional<double> least_s;
  for (const Contestant& one : found) {
    if (one.formula_s > 0 && !least_s) least_s = one.formula_s;
    const bool is_hopeless = least_s && one.formula_s > kHopeless * *least_s;
    if (winner != nullptr && (is_hopeless || simulated + one.transfer_count > kMostTransfers)) continue;
    simulated += one.transfer_count;
    if (found.size() == 1 || one.transfer_count > kMostTransfers) {  // formulas alone decide
      winner = &one;
      break;
    }
    const Picoseconds time = simulate(made(one, question), network_, question.byte_count, {}, {}).duration;
    const bool wins =
        winner == nullptr || time < best || (time == best && one.transfer_count < winner->transfer_count);
    if (wins) winner = &one, best = time;
  }
  return winner->words();
}

Schedule Choice::follow(std::string_view words, const Question& question) const {
  std::stringstream in{std::string(words)};
  std::string name, rest;
  Contestant told;
  in >> name >> told.parameter >> told.count;
  for (const Algorithm& algorithm : algorithms::registry())
    if (algorithm.name == name && algorithm.kind == question.kind) told.algorithm = &algorithm;
  if (told.algorithm == nullptr || told.count < 0)
    throw ArgumentError("expected the words of a schedule for " + std::string(name_of(question.kind)) +
                        ", found '" + std::string(words.substr(0, 60)) + "'");
  return made(told, question);
}

Chooser chooser_of(std::shared_ptr<const Choice> choice) {
  return {
      .decide =
          [choice](const Question& question) {
            const std::string words = choice->decide(question);
            const auto bytes = std::as_bytes(std::span(words));
            return Bytes(bytes.begin(), bytes.end());
          },
      .follow =
          [choice](const Bytes& recipe, const Question& question) {
            const std::string_view words(reinterpret_cast<const char*>(recipe.data()), recipe.size());
            return Selection{ProgramSource(std::make_shared<const Schedule>(choice->follow(words, question))),
                             {}};
          },
  };
}

}  // namespace hemiola::c
