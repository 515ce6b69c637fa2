// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "hemiola/bindings/arrays.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/conditions.hpp"
#include "hemiola/bindings/long_call.hpp"
#include "hemiola/bindings/value_class.hpp"
#include "hemiola/bounds/lower_bound.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {

void bind_bounds(nb::module_& m) {
  auto bound = nb::class_<Bound>(m, "Bound", "One lower bound: its name, its time, and its proof.");
  bound
      .def_ro("name", &Bound::name,
              "The limiting cause: ports, traffic, hosts, relays, cut, distance, arrival or one_port.")
      .def_prop_ro("seconds", [](const Bound& b) { return to_seconds(b.time); })
      .def_ro("witness", &Bound::witness, "The proof of the bound, in words.")
      .def_ro("assumes", &Bound::assumes,
              "What the proof takes for granted beside the topology's figures, in words.")
      .def(
          "after_launch",
          [](const Bound& b, double launch_s) { return after_launch(b, from_seconds(launch_s)); },
          "launch_s"_a, "The same where every rank launches the operation before it sends, for so long.")
      .def("__repr__", [](const Bound& b) {
        return "<Bound " + b.name + ": " + format_seconds(to_seconds(b.time)) + ", " + b.witness + ">";
      });
  bind_as_value(
      bound, [](const Bound& b) { return std::tuple(b.name, b.time, b.witness, b.assumes); },
      [](std::string name, Picoseconds time, std::string witness, std::string assumes) {
        return Bound{std::move(name), time, std::move(witness), std::move(assumes)};
      });
  m.def(
      "lower_bounds",
      [](const Topology& topology, const std::string& kind, std::int64_t nbytes, const RankSeconds& late,
         const RankFactors& slow, std::int64_t root, const std::string& ports) {
        const CollectiveKind k = kind_from_name(kind);
        const Rank r = to_index<Rank>(root, "root");
        const PortUse port_use = port_use_from_name(ports);
        const Conditions conditions = conditions_of(late, slow);
        const LongCall call;
        return lower_bound(topology, k, nbytes, conditions, r, port_use).bounds;
      },
      "topology"_a, "kind"_a, "nbytes"_a, "late"_a, "slow"_a, "root"_a, "ports"_a,
      "Every lower bound, largest first; see hemiola.lower_bound.");
  m.def(
      "exchange_lower_bounds",
      [](const Topology& topology, std::vector<std::int64_t> blocks, const RankSeconds& late,
         const RankFactors& slow) {
        const Conditions conditions = conditions_of(late, slow);
        const LongCall call;
        return exchange_lower_bound(topology, std::move(blocks), conditions).bounds;
      },
      "topology"_a, "blocks"_a, "late"_a, "slow"_a,
      "Every lower bound of an all_to_all whose blocks differ, largest first; see hemiola.lower_bound.");
}

}  // namespace hemiola::bindings
