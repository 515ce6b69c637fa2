// SPDX-License-Identifier: Apache-2.0
// The planner's questions to the algorithms from Python, and how costs of exchanges among slow ranks are
// shared with the algorithms that Python makes.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hemiola/algorithms/late/late_segmented.hpp"
#include "hemiola/algorithms/slow/rail_segments.hpp"
#include "hemiola/algorithms/slow/segments.hpp"
#include "hemiola/algorithms/task.hpp"
#include "hemiola/algorithms/topology/mesh_trees_cost.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/conditions.hpp"
#include "hemiola/bindings/value_class.hpp"
#include "hemiola/topology/builders/dimensions.hpp"
#include "hemiola/topology/slowed_links.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

using algorithms::LateCut;
using algorithms::Task;
using algorithms::Variant;

constexpr const char* kVariantDoc = R"(A choice that is worth trying for a task, and its cost.

Parameters
----------
formula_s : float, seconds by the cost formula, delays included.
transfer_count : int, of the whole schedule.
parameter : str, which parameter of the algorithm's function is chosen, such as "chunk_count"; empty: none is.
count : int, its value.
is_simulation : bool, whether formula_s stands for a simulation: one would find it, too, or takes longer than a plan may.

Raises
------
TypeError
    if an argument is not of its type.)";

void bind_task(nb::module_& a) {
  nb::class_<Task>(a, "Task", "An operation to run, its network, and its conditions.")
      .def(
          "__init__",
          [](Task* task, std::string_view kind, int rank_count, std::int64_t nbytes, double latency_s,
             double bandwidth, double message_s, const RankSeconds& late, const RankFactors& slow, int root,
             const Topology* topology, std::optional<std::int64_t> most_transfers) {
            const Conditions conditions = conditions_of(late, slow);
            conditions.check(rank_count);
            new (task) Task{kind_from_name(kind), rank_count, nbytes,  {latency_s, bandwidth, message_s},
                            conditions,           Rank{root}, topology};
            if (most_transfers) task->most_transfers = *most_transfers;
          },
          "kind"_a, "rank_count"_a, "nbytes"_a, nb::kw_only(), "latency_s"_a, "bandwidth"_a,
          "message_s"_a = 0.0, "late"_a, "slow"_a, "root"_a, "topology"_a.none(),
          "most_transfers"_a = nb::none(), nb::keep_alive<1, 11>())
      .def_ro("most_transfers", &Task::most_transfers, "How many a schedule may have that is simulated.")
      .def_prop_ro(
          "group_count",
          [](const Task& task) { return task.nodes() == nullptr ? 1 : task.nodes()->group_count; },
          "How many groups of nodes have a switch of their own; 1 where all are on the same.")
      .def_prop_ro(
          "nic_count", [](const Task& task) { return task.nodes() == nullptr ? 1 : task.nodes()->nic_count; },
          "How many links lead out of a node.")
      .def_prop_ro(
          "between_nodes",
          [](const Task& task) {
            const auto* nodes = task.nodes();
            if (nodes == nullptr) return std::tuple(0.0, 0.0, 0.0);
            return std::tuple(nodes->near.latency_s, nodes->near.s_per_byte, nodes->near.message_s);
          },
          "Seconds of latency between nodes of a group, and seconds that a byte and a message keep a NIC "
          "while all ranks "
          "send; zeros without nodes.");
  auto variant = nb::class_<Variant>(a, "Variant", kVariantDoc);
  variant
      .def(
          "__init__",
          [](Variant* variant, double formula_s, std::int64_t transfer_count, std::string parameter,
             int count, bool is_simulation) {
            new (variant) Variant{formula_s, transfer_count, std::move(parameter), count, is_simulation};
          },
          "formula_s"_a, "transfer_count"_a, "parameter"_a = "", "count"_a = 0, nb::kw_only(),
          "is_simulation"_a = false)
      .def_ro("formula_s", &Variant::formula_s)
      .def_ro("transfer_count", &Variant::transfer_count)
      .def_ro("parameter", &Variant::parameter, "Which parameter is chosen; empty: none.")
      .def_ro("count", &Variant::count, "Its value.")
      .def_ro("is_simulation", &Variant::is_simulation, "Whether a simulation would find formula_s, too.")
      .def("__repr__", [](const Variant& v) {
        const std::string chosen =
            v.parameter.empty() ? "" : v.parameter + "=" + std::to_string(v.count) + ", ";
        return "<Variant " + chosen + format_seconds(v.formula_s) + ">";
      });
  bind_as_value(
      variant,
      [](const Variant& v) {
        return std::tuple(v.formula_s, v.transfer_count, v.parameter, v.count, v.is_simulation);
      },
      [](double formula_s, std::int64_t transfer_count, std::string parameter, int count,
         bool is_simulation) {
        return Variant{formula_s, transfer_count, std::move(parameter), count, is_simulation};
      });
}

void bind_late_cut(nb::module_& a) {
  nb::class_<LateCut>(a, "LateCut", "How finely to cut an all-reduce that finds its late rank while it runs.")
      .def_ro("segments", &LateCut::segments)
      .def_ro("chunks_per_owner", &LateCut::chunks_per_owner)
      .def_ro("segment_s", &LateCut::segment_s, "Seconds for the reduce-scatter of one segment.")
      .def_ro("finish_s", &LateCut::finish_s, "Seconds after 1, 2 … segments of them.");
  a.def(
      "late_cut",
      [](int rank_count, std::int64_t nbytes, double latency_s, double bandwidth, const std::string& finish) {
        const auto kind = algorithms::finish_kind("late_cut", finish);
        return algorithms::late_cut(rank_count, nbytes, {latency_s, bandwidth}, kind);
      },
      "rank_count"_a, "nbytes"_a, "latency_s"_a, "bandwidth"_a, nb::kw_only(), "finish"_a,
      "Choose such a cut.");
}

void bind_exchanges(nb::module_& a) {
  a.def(
      "best_measurable_segments",
      [](const Task& task, double load, int rounds, double message) -> std::optional<std::pair<int, double>> {
        const auto choice = algorithms::best_measurable_segments(task, {load, rounds, message});
        return choice ? std::optional(std::pair(choice->segments, choice->seconds)) : std::nullopt;
      },
      "task"_a, nb::kw_only(), "load"_a, "rounds"_a, "message"_a,
      "Choose the segments of an exchange of many small messages; return them with its seconds.");
  a.def(
      "best_rail_variant",
      [](const Task& task, double load, int rounds, int chunks) {
        return algorithms::best_rail_variant(task, {load, rounds, chunks});
      },
      "task"_a, nb::kw_only(), "load"_a, "rounds"_a, "chunks"_a,
      "Choose the segments of an exchange over hosts on every rail.");
  a.def(
      "nic_bandwidths",
      [](const Topology& topology, const RankFactors& slow) {
        auto found = vertex_bandwidths(topology, slowed_bandwidths(topology, conditions_of({}, slow)));
        found.resize(static_cast<std::size_t>(topology.rank_count()));
        return found;
      },
      "topology"_a, "slow"_a, "Say how many bytes a second of each rank's NICs are its own.");
  a.def(
      "slow_hosts",
      [](const Topology& topology, const RankFactors& slow) {
        SlowHosts found = slow_hosts(topology, slowed_bandwidths(topology, conditions_of({}, slow)));
        return std::pair(std::move(found.factors), found.ranks_per_host);
      },
      "topology"_a, "slow"_a,
      "Say which hosts' NICs are slower than the fastest host's, and how many ranks a host has.");
}

void bind_mesh_trees(nb::module_& a) {
  a.def(
      "mesh_trees_cost",
      [](const std::vector<std::string>& wires, const std::vector<int>& dims, const PerItem& latency_s,
         const PerItem& bandwidth, const PerItem& message_s, std::int64_t nbytes, int chunks,
         std::optional<int> lines) {
        const auto cost = algorithms::mesh_trees_cost(
            {topologies::dimensions_of(wires, dims, latency_s, bandwidth, message_s), nbytes, chunks, lines});
        return std::pair(cost.seconds, cost.transfer_count);
      },
      nb::kw_only(), "wires"_a, "dims"_a, "latency_s"_a, "bandwidth"_a, "message_s"_a, "nbytes"_a,
      "chunk_count"_a, "line_count"_a,
      "Say about how many seconds all_reduce_mesh_trees takes with such arguments, and how many transfers.");
}

}  // namespace

void bind_algorithm_tasks(nb::module_& m) {
  nb::module_ a = nb::borrow<nb::module_>(m.attr("algorithms"));
  bind_task(a);
  bind_late_cut(a);
  bind_exchanges(a);
  bind_mesh_trees(a);
}

}  // namespace hemiola::bindings
