// The class hemiola.Topology: NumPy views of its links and nodes, equality, pickling.
#include "hemiola/topology/topology.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/operators.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/conditions.hpp"
#include "hemiola/bindings/topology.hpp"
#include "hemiola/topology/host_links.hpp"
#include "hemiola/topology/slowed_links.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

/// One element of Topology.links as NumPy sees it.
struct LinkRow {
  std::int32_t src;
  std::int32_t dst;
  double latency_s;
  double bandwidth;
};
static_assert(sizeof(LinkRow) == 24);

nb::object link_dtype() {
  nb::list fields;
  for (const char* name : {"src", "dst"}) fields.append(nb::make_tuple(name, "<i4"));
  for (const char* name : {"latency_s", "bandwidth"}) fields.append(nb::make_tuple(name, "<f8"));
  return nb::module_::import_("numpy").attr("dtype")(fields);
}

using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// A fresh read-only array of link_dtype(); NumPy owns the memory.
nb::object links_array(const Topology& t) {
  const nb::object numpy = nb::module_::import_("numpy");
  nb::object raw = numpy.attr("empty")(t.links().size() * sizeof(LinkRow), "u1");
  std::uint8_t* out = nb::cast<Bytes>(raw).data();
  for (const Link& link : t.links()) {
    const LinkRow row{link.src, link.dst, to_seconds(link.latency), link.bandwidth_Bps};
    std::memcpy(out, &row, sizeof row);
    out += sizeof row;
  }
  nb::object rows = raw.attr("view")(link_dtype());
  rows.attr("setflags")("write"_a = false);
  return rows;
}

Link to_link(const LinkRow& row) {
  return {Vertex{row.src}, Vertex{row.dst}, from_seconds(row.latency_s), row.bandwidth};
}

/// `array` is one-dimensional, of link_dtype().
std::vector<Link> links_from_array(const nb::object& array) {
  const auto bytes = nb::cast<Bytes>(array.attr("copy")().attr("view")("u1"));
  std::vector<Link> links(bytes.size() / sizeof(LinkRow));
  for (std::size_t l = 0; l < links.size(); ++l) {
    LinkRow row;
    std::memcpy(&row, bytes.data() + l * sizeof row, sizeof row);
    links[l] = to_link(row);
  }
  return links;
}

/// Rows (src, dst, latency_s, bandwidth), or an array such as Topology.links.
std::vector<Link> links_from(const nb::object& rows) {
  if (nb::hasattr(rows, "tolist")) {  // a NumPy array: of our own type without a detour, any other as rows
    if (rows.attr("dtype").equal(link_dtype()) && nb::cast<int>(rows.attr("ndim")) == 1)
      return links_from_array(rows);
    return links_from(rows.attr("tolist")());
  }
  std::vector<Link> links;
  for (nb::handle row : rows) {
    std::tuple<int, int, double, double> values;
    if (!nb::try_cast(row, values))
      throw ArgumentError("link " + std::to_string(links.size()) +
                          ": expected (src, dst, latency_s, bandwidth), found " + nb::repr(row).c_str());
    const auto [src, dst, latency_s, bandwidth] = values;
    links.push_back(to_link({src, dst, latency_s, bandwidth}));
  }
  return links;
}

nb::object nodes_array(const Topology& t) {
  nb::list nodes;
  for (Rank rank : indices<Rank>(t.rank_count())) nodes.append(t.node_of(rank));
  nb::object array = nb::module_::import_("numpy").attr("array")(nodes, "dtype"_a = "int32");
  array.attr("setflags")("write"_a = false);
  return array;
}

std::string repr_of(const Topology& t) {
  return "<Topology '" + t.name() + "': " + std::to_string(t.rank_count()) + " ranks, " +
         std::to_string(t.switch_count()) + " switches, " + std::to_string(t.node_count()) + " nodes, " +
         std::to_string(t.link_count()) + " links>";
}

using State = std::tuple<std::string, int, int, nb::object, std::vector<int>>;

}  // namespace

void bind_topology(nb::module_& m) {
  nb::class_<Topology> topology(m, "Topology",
                                R"(The network: ranks, switches, nodes (hosts) and directed links; immutable.

Vertices are numbered: ranks 0 … rank_count-1, then switches from rank_count up.

Parameters
----------
rank_count : int, at least 1.
links : rows (src, dst, latency_s, bandwidth), or an array such as `Topology.links`; latency in seconds, bandwidth in
    bytes per second. Sending n bytes occupies a link for n / bandwidth; the last byte arrives latency_s later. Parallel
    links are allowed.
switch_count : int, vertices that are not ranks.
nodes : the host of each rank, 0 … node_count-1 without gaps; empty when every rank is a host of its own.
name : str.

Raises
------
ArgumentError
    A link with an unknown end, equal ends, a bandwidth that is not finite and above 0, or a latency below 0 or above 1000 s; more than
    4,194,304 vertices or 16,777,216 links.
)");
  topology
      .def(
          "__init__",
          [](Topology* self, int rank_count, const nb::object& links, int switch_count,
             std::vector<int> nodes, std::string name) {
            new (self)
                Topology(std::move(name), rank_count, switch_count, links_from(links), std::move(nodes));
          },
          "rank_count"_a, "links"_a, nb::kw_only(), "switch_count"_a = 0, "nodes"_a = std::vector<int>{},
          "name"_a = "")
      .def_prop_ro("name", &Topology::name, "What this network is called in reports.")
      .def_prop_ro("rank_count", &Topology::rank_count, "How many ranks there are.")
      .def_prop_ro("switch_count", &Topology::switch_count, "How many vertices are not ranks.")
      .def_prop_ro("link_count", &Topology::link_count, "How many directed links there are.")
      .def_prop_ro("node_count", &Topology::node_count, "How many hosts the ranks are spread over.")
      .def_prop_ro(
          "links", &links_array, nb::sig("def links(self) -> numpy.typing.NDArray[numpy.void]"),
          "Links as a read-only structured array: src, dst (int32), latency_s, bandwidth (float64, B/s).")
      .def_prop_ro("nodes", &nodes_array, nb::sig("def nodes(self) -> numpy.typing.NDArray[numpy.int32]"),
                   "The host of each rank, as a read-only int32 array.")
      .def(
          "host_bandwidths",
          [](const Topology& t, const RankFactors& slow) {
            const Conditions conditions = conditions_of({}, slow);
            conditions.check(t.rank_count());
            return host_bandwidths(t, slowed_bandwidths(t, conditions));
          },
          "slow"_a = RankFactors{},
          R"(Say what leaves each host, in bytes per second.

Parameters
----------
slow : mapping of rank to factor >= 1 by which its links are slower now.

Returns
-------
list of float, one per host. Where every rank has links to other hosts of its own, as many times its weakest rank's as it
has ranks; otherwise the sum.

Raises
------
ArgumentError
    An unknown rank, a factor below 1 or not finite.
)")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const Topology& t) { return t.fingerprint() >> 1; })
      .def("__repr__", &repr_of)
      .def("__getstate__",
           [](const Topology& t) {
             return State{t.name(), t.rank_count(), t.switch_count(), links_array(t), t.node_of_rank()};
           })
      .def("__setstate__", [](Topology& self, const State& state) {
        const auto& [name, rank_count, switch_count, links, nodes] = state;
        new (&self) Topology(name, rank_count, switch_count, links_from_array(links), nodes);
      });
  bind_topology_copies(topology);
  bind_topology_formats(topology);
}

}  // namespace hemiola::bindings
