// SPDX-License-Identifier: Apache-2.0
// The registry's entries as objects; hemiola.algorithms.Algorithm wraps them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "hemiola/algorithms/registry.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/long_call.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

using algorithms::Algorithm;
using algorithms::ChunkCount;
using algorithms::Task;

std::vector<std::pair<std::string, bool>> parameters_of(const Algorithm& a) {
  std::vector<std::pair<std::string, bool>> found;
  const auto functions = functions_of(a);
  for (const auto& parameter : functions.front().parameters)
    found.emplace_back(parameter.name, parameter.is_required());
  return found;
}

std::vector<std::pair<std::string, std::string>> functions_by_type(const Algorithm& a) {
  static const std::string names[] = {"schedule", "parts", "count"};  // in the order of Returns
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& function : functions_of(a))
    found.emplace_back(function.name, names[static_cast<std::size_t>(function.returns)]);
  return found;
}

void bind_algorithm(nb::module_& m) {
  nb::class_<Algorithm>(m, "Algorithm",
                        "One entry of the core's registry; hemiola.algorithms.Algorithm documents it.")
      .def_ro("name", &Algorithm::name)
      .def_prop_ro("kind", [](const Algorithm& a) { return name_of(a.kind); })
      .def_prop_ro("paper", [](const Algorithm& a) { return std::pair(a.paper.key, a.paper.citation); })
      .def_ro("idea", &Algorithm::idea)
      .def_ro("sizes", &Algorithm::sizes)
      .def_ro("chunks_formula", &Algorithm::chunks_formula)
      .def_ro("steps_formula", &Algorithm::steps_formula)
      .def_ro("bytes_formula", &Algorithm::bytes_formula)
      .def_ro("formula", &Algorithm::formula)
      .def_prop_ro("needs", [](const Algorithm& a) { return name_of(a.needs); })
      .def_prop_ro("is_rooted", [](const Algorithm& a) { return is_rooted(a.kind); })
      .def_prop_ro("is_pipelined", &Algorithm::is_pipelined)
      .def_ro("chunk_count_multiple", &Algorithm::chunk_count_multiple)
      .def("is_valid", &Algorithm::is_valid, "rank_count"_a)
      .def("step_count", &Algorithm::step_count, "rank_count"_a, nb::kw_only(), "chunk_count"_a = nb::none())
      .def(
          "transfer_count",
          [](const Algorithm& a, std::int64_t rank_count, ChunkCount chunk_count) {
            return a.cost_of(rank_count, chunk_count).transfer_count;
          },
          "rank_count"_a, nb::kw_only(), "chunk_count"_a = nb::none())
      .def("bytes_per_rank", &Algorithm::bytes_per_rank, "rank_count"_a, "nbytes"_a, nb::kw_only(),
           "chunk_count"_a = nb::none())
      .def(
          "seconds",
          [](const Algorithm& a, std::int64_t rank_count, std::int64_t nbytes, double latency_s,
             double bandwidth, ChunkCount chunk_count, double message_s) {
            return seconds(a.cost_of(rank_count, chunk_count), nbytes, {latency_s, bandwidth, message_s});
          },
          "rank_count"_a, "nbytes"_a, "latency_s"_a, "bandwidth"_a, nb::kw_only(),
          "chunk_count"_a = nb::none(), "message_s"_a = 0.0)
      .def(
          "best_chunk_count",
          [](const Algorithm& a, std::int64_t rank_count, std::int64_t nbytes, double latency_s,
             double bandwidth) { return best_chunk_count(a, rank_count, nbytes, {latency_s, bandwidth}); },
          "rank_count"_a, "nbytes"_a, "latency_s"_a, "bandwidth"_a)
      .def("generate", &Algorithm::schedule, "rank_count"_a, "root"_a = 0, "chunk_count"_a = nb::none(),
           nb::call_guard<LongCall>())
      .def_prop_ro("parameters", &parameters_of,
                   "The arguments of its function, and whether each must be given.")
      .def_prop_ro("functions", &functions_by_type,
                   "The names of its functions, its own first, and the kind of each one's result.")
      .def(
          "why_not", [](const Algorithm& a, const Task& task) { return a.why_not ? a.why_not(task) : ""; },
          "task"_a,
          "Explain why it cannot run a task of its kind, from the task's needs; empty where it can.")
      .def(
          "variants",
          [](const Algorithm& a, const Task& task) {
            return a.variants ? a.variants(task) : std::vector<algorithms::Variant>{};
          },
          "task"_a, "List the variants worth trying for a task that it can run.")
      .def("__repr__", [](const Algorithm& a) { return "<Algorithm " + std::string(a.name) + ">"; });
}

}  // namespace

void bind_algorithms(nb::module_& m) {
  nb::module_ a = m.def_submodule("algorithms", "Published algorithms; import hemiola.algorithms instead.");
  bind_algorithm(a);
  a.def(
      "entries",
      [] {
        nb::list found;
        for (const Algorithm& algorithm : algorithms::registry())
          found.append(nb::cast(&algorithm, nb::rv_policy::reference));
        return found;
      },
      nb::sig("def entries() -> list[Algorithm]"),
      "List the registry, in the order of docs/reference/algorithms.md.");
  a.def(
      "check_kind", [](std::string_view name) { kind_from_name(name); }, "name"_a,
      "Raise ArgumentError, which lists the collectives, unless there is one of that name.");
}

}  // namespace hemiola::bindings
