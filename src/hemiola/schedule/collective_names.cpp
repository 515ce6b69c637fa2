// SPDX-License-Identifier: Apache-2.0
#include "hemiola/schedule/collective_names.hpp"

#include <array>
#include <string>
#include <utility>

#include "hemiola/base/other_names.hpp"

namespace hemiola {
namespace {

/// Folded: ours, then those of MPI and PyTorch that differ in more than their writing.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kMeanings{
    {{"allgather", "all_gather"},
     {"reducescatter", "reduce_scatter"},
     {"allreduce", "all_reduce"},
     {"broadcast", "broadcast"},
     {"reduce", "reduce"},
     {"alltoall", "all_to_all"},
     {"gather", "gather"},
     {"scatter", "scatter"},
     {"bcast", "broadcast"},
     {"allgatherintotensor", "all_gather"},
     {"reducescattertensor", "reduce_scatter"},
     {"reducescatterblock", "reduce_scatter"},
     {"alltoallsingle", "all_to_all"}}};

}  // namespace

std::string_view kind_meant(std::string_view name) {
  const std::string plain = folded(name);
  for (const auto& [written, meant] : kMeanings)
    if (written == plain) return meant;
  return "";
}

}  // namespace hemiola
