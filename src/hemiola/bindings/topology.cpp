#include "hemiola/topology/topology.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "hemiola/bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {

void bind_topology(nb::module_& m) {
  using LinkRow = std::tuple<int, int, double, double>;
  nb::class_<Topology>(m, "Topology")
      .def(
          "__init__",
          [](Topology* self, int rank_count, const std::vector<LinkRow>& links, int switch_count, std::vector<int> nodes,
             std::string name) {
            std::vector<Link> rows;
            rows.reserve(links.size());
            for (const auto& [src, dst, latency_s, bandwidth] : links)
              rows.push_back({Vertex{src}, Vertex{dst}, from_seconds(latency_s), bandwidth});
            new (self) Topology(std::move(name), rank_count, switch_count, std::move(rows), std::move(nodes));
          },
          "rank_count"_a, "links"_a, nb::kw_only(), "switch_count"_a = 0, "nodes"_a = std::vector<int>{}, "name"_a = "")
      .def_prop_ro("name", &Topology::name)
      .def_prop_ro("rank_count", &Topology::rank_count)
      .def_prop_ro("switch_count", &Topology::switch_count)
      .def_prop_ro("link_count", &Topology::link_count)
      .def_prop_ro("node_count", &Topology::node_count);
}

}  // namespace hemiola::bindings
