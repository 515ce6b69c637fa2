// SPDX-License-Identifier: Apache-2.0
#include "hemiola/verify/verify.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "hemiola/bindings/arrays.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/gil.hpp"
#include "hemiola/bindings/long_call.hpp"
#include "hemiola/bindings/value_class.hpp"
#include "hemiola/schedule/file/schedule_file.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

std::string describe_violation(const Violation& v) {
  return "Violation(rule='" + std::string(name_of(v.rule)) + "', step=" + std::to_string(v.step) +
         ", rank=" + std::to_string(v.rank) + ", chunk=" + std::to_string(v.chunk) + ": " + v.message + ")";
}

template <typename Transfers>  // Schedule, or ScheduleFile
std::vector<Violation> run(const Transfers& schedule, std::int64_t max_violations, bool report_redundant,
                           const Topology* topology, std::optional<std::int64_t> link_capacity,
                           std::optional<std::int64_t> port_capacity, std::optional<std::int64_t> threads,
                           const nb::object& progress) {
  VerifyOptions options;
  options.max_violations = to_index<Rank>(max_violations, "max_violations");
  options.report_redundant = report_redundant;
  options.limits.topology = topology;
  if (link_capacity) options.limits.link_capacity = to_index<Rank>(*link_capacity, "link_capacity");
  if (port_capacity) options.limits.port_capacity = to_index<Rank>(*port_capacity, "port_capacity");
  if (threads) options.threads = to_index<Rank>(*threads, "threads");
  if (!progress.is_none())
    options.progress = [&](std::int64_t done, std::int64_t total) {
      GilHeld acquire;
      progress(done, total);
    };
  const LongCall call;
  return verify(schedule, options);
}

}  // namespace

void bind_verify(nb::module_& m) {
  auto violation = nb::class_<Violation>(m, "Violation",
                                         "One rule that a schedule breaks, where, and a sentence about it.");
  violation
      .def_prop_ro(
          "rule", [](const Violation& v) { return name_of(v.rule); }, "The rule's name, see `verify`.")
      .def_prop_ro(
          "step", [](const Violation& v) -> int { return v.step; },
          "The offending transfer's step, or the schedule's step count for a violation of the end.")
      .def_prop_ro("rank", [](const Violation& v) -> int { return v.rank; })
      .def_prop_ro("chunk", [](const Violation& v) -> int { return v.chunk; })
      .def_ro("message", &Violation::message)
      .def("__repr__", &describe_violation);
  bind_as_value(
      violation,
      [](const Violation& v) {
        return std::tuple(static_cast<int>(v.rule), static_cast<int>(v.step), static_cast<int>(v.rank),
                          static_cast<int>(v.chunk), v.message);
      },
      [](int rule, int step, int rank, int chunk, std::string message) {
        return Violation{static_cast<Rule>(rule), Step{step}, Rank{rank}, Chunk{chunk}, std::move(message)};
      });
  const auto define = [&](auto run) {
    m.def("verify", run, "schedule"_a, nb::kw_only(), "max_violations"_a = 100, "report_redundant"_a = false,
          "topology"_a = nb::none(), "link_capacity"_a = nb::none(), "port_capacity"_a = nb::none(),
          "threads"_a = nb::none(), "progress"_a = nb::none(), "See hemiola.verify.");
  };
  define(&run<Schedule>);
  define(&run<ScheduleFile>);
}

}  // namespace hemiola::bindings
