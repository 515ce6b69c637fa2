// SPDX-License-Identifier: Apache-2.0
// Which schedule a communicator runs, without the planner in Python: the registry's algorithms race on the network by
// the simulator. One rank decides and says so in words; all follow the words, so no two ranks need the same floats.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hemiola/algorithms/algorithm.hpp"
#include "hemiola/runtime/operation/common_choice.hpp"
#include "hemiola/topology/topology.hpp"

namespace hemiola::c {

/// An algorithm with the count that its variant chooses, if it chooses one.
struct Contestant {
  const algorithms::Algorithm* algorithm = nullptr;
  std::string parameter = {};  ///< of its function; "chunk_count" where a rank count is enough
  std::int64_t count = 0;
  double formula_s = 0;
  std::int64_t transfer_count = 0;

  /// "all_reduce_ring", or "all_reduce_hierarchical slices 4".
  std::string words() const;
};

class Choice {
 public:
  /// `hosts`: of each rank, as of hosts_of.
  Choice(Topology network, std::vector<int> hosts) : network_(std::move(network)), hosts_(std::move(hosts)) {}

  /// Those that can run a question, with the seconds of their formulas.
  std::vector<Contestant> contestants(const Question& question) const;
  /// The winner's words. Of equal times the one with fewest transfers wins. Throws ArgumentError where nothing runs.
  std::string decide(const Question& question) const;
  /// Makes the schedule that the words mean. Throws ArgumentError for words that `decide` cannot have said.
  Schedule follow(std::string_view words, const Question& question) const;

 private:
  Schedule made(const Contestant& contestant, const Question& question) const;
  void add_pipelined(const algorithms::Algorithm& algorithm, const Question& question,
                     std::vector<Contestant>* found) const;
  void add_placed(const algorithms::Algorithm& algorithm, const algorithms::Task& task,
                  std::vector<Contestant>* found) const;
  std::vector<algorithms::Value> arguments(const algorithms::Function& function,
                                           const Contestant& contestant) const;
  algorithms::PortSpeed port() const;
  int rank_count() const { return network_.rank_count(); }

  Topology network_;
  std::vector<int> hosts_;
};

/// For a communicator's desk.
Chooser chooser_of(std::shared_ptr<const Choice> choice);

}  // namespace hemiola::c
