// SPDX-License-Identifier: Apache-2.0
// The class hemiola.Topology: NumPy views of its links and nodes, equality, pickling.
#include "hemiola/topology/topology.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/operators.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/arrays.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/conditions.hpp"
#include "hemiola/bindings/long_call.hpp"
#include "hemiola/bindings/switch_abilities.hpp"
#include "hemiola/bindings/topology.hpp"
#include "hemiola/schedule/routes.hpp"
#include "hemiola/topology/hops.hpp"
#include "hemiola/topology/host_links.hpp"
#include "hemiola/topology/joined_ways.hpp"
#include "hemiola/topology/slowed_links.hpp"
#include "hemiola/topology/vertex_names.hpp"

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
  double message_s;
};
static_assert(sizeof(LinkRow) == 32);

nb::object link_dtype() {
  nb::list fields;
  for (const char* name : {"src", "dst"}) fields.append(nb::make_tuple(name, "<i4"));
  for (const char* name : {"latency_s", "bandwidth", "message_s"}) fields.append(nb::make_tuple(name, "<f8"));
  return nb::module_::import_("numpy").attr("dtype")(fields);
}

using ByteArray = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// A fresh read-only array of link_dtype(); NumPy owns the memory.
nb::object links_array(const Topology& t) {
  const nb::object numpy = nb::module_::import_("numpy");
  nb::object raw = numpy.attr("empty")(t.links().size() * sizeof(LinkRow), "u1");
  std::uint8_t* out = nb::cast<ByteArray>(raw).data();
  for (const Link& link : t.links()) {
    const LinkRow row{link.src, link.dst, to_seconds(link.latency), link.bandwidth_Bps,
                      to_seconds(link.message)};
    std::memcpy(out, &row, sizeof row);
    out += sizeof row;
  }
  nb::object rows = raw.attr("view")(link_dtype());
  rows.attr("setflags")("write"_a = false);
  return rows;
}

Link to_link(const LinkRow& row) {
  return {Vertex{row.src}, Vertex{row.dst}, from_seconds(row.latency_s), row.bandwidth,
          from_seconds(row.message_s)};
}

/// `array` is one-dimensional, of link_dtype().
std::vector<Link> links_from_array(const nb::object& array) {
  const auto bytes = nb::cast<ByteArray>(array.attr("copy")().attr("view")("u1"));
  std::vector<Link> links(bytes.size() / sizeof(LinkRow));
  for (std::size_t l = 0; l < links.size(); ++l) {
    LinkRow row;
    std::memcpy(&row, bytes.data() + l * sizeof row, sizeof row);
    links[l] = to_link(row);
  }
  return links;
}

/// Some milliseconds.
constexpr std::size_t kRowsBetweenSignals = 1 << 16;

/// (src, dst, latency_s, bandwidth), or the same and message_s; false for anything else.
bool read_row(nb::handle row, LinkRow* link) {
  std::tuple<int, int, double, double> four;
  std::tuple<int, int, double, double, double> five;
  if (nb::try_cast(row, five))
    *link = {std::get<0>(five), std::get<1>(five), std::get<2>(five), std::get<3>(five), std::get<4>(five)};
  else if (nb::try_cast(row, four))
    *link = {std::get<0>(four), std::get<1>(four), std::get<2>(four), std::get<3>(four), 0};
  else
    return false;
  return true;
}

}  // namespace

std::vector<Link> links_from(const nb::object& rows) {
  if (nb::hasattr(rows, "tolist")) {  // a NumPy array: of our own type without a detour, any other as rows
    if (rows.attr("dtype").equal(link_dtype()) && nb::cast<int>(rows.attr("ndim")) == 1)
      return links_from_array(rows);
    return links_from(rows.attr("tolist")());
  }
  if (!nb::hasattr(rows, "__iter__"))
    throw ArgumentError(
        "links: expected rows (src, dst, latency_s, bandwidth), message_s after them where a message costs "
        "something, "
        "or an array such as Topology.links, found " +
        std::string(nb::repr(rows).c_str()));
  std::vector<Link> links;
  for (nb::handle row : rows) {
    if (links.size() % kRowsBetweenSignals == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
    LinkRow link;
    if (!read_row(row, &link))
      throw ArgumentError(
          "link " + std::to_string(links.size()) +
          ": expected (src, dst, latency_s, bandwidth) or, with the cost of a message, (src, dst, "
          "latency_s, bandwidth, message_s), found " +
          nb::repr(row).c_str());
    links.push_back(to_link(link));
  }
  return links;
}

namespace {

nb::object nodes_array(const Topology& t) {
  std::vector<std::int32_t> nodes;
  for (Rank rank : indices<Rank>(t.rank_count())) nodes.push_back(t.node_of(rank));
  const nb::bytes bytes(nodes.data(), nodes.size() * sizeof(std::int32_t));
  nb::object array = nb::module_::import_("numpy").attr("frombuffer")(bytes, "dtype"_a = "int32");
  array.attr("setflags")("write"_a = false);
  return array;
}

std::string repr_of(const Topology& t) {
  return "<Topology '" + t.name() + "': " + std::to_string(t.rank_count()) + " ranks, " +
         std::to_string(t.switch_count()) + " switches, " + std::to_string(t.node_count()) + " nodes, " +
         std::to_string(t.link_count()) + " links>";
}

nb::object hops_array(const Topology& t, int rank, bool against) {
  if (rank < 0 || rank >= t.rank_count())
    throw ArgumentError("hops: expected a rank in 0 … " + std::to_string(t.rank_count() - 1) + ", found " +
                        std::to_string(rank));
  using Hops = std::vector<std::int32_t>;
  auto far = std::make_unique<Hops>(against ? hops_to(t, Vertex{rank}) : hops_from(t, Vertex{rank}));
  const std::span<const std::int32_t> values = *far;
  return view_of(values, nb::capsule(far.release(), [](void* p) noexcept { delete static_cast<Hops*>(p); }));
}

void bind_hops(nb::module_& m) {
  m.def("hops", &hops_array, "topology"_a, "rank"_a, nb::kw_only(), "against"_a = false,
        nb::sig("def hops(topology: Topology, rank: int, *, against: bool = False) -> "
                "numpy.typing.NDArray[numpy.int32]"),
        "Return the fewest links from a rank to every vertex, or there with `against`; -1 where there is no "
        "way.");
}

std::vector<RankPair> ranks_of(const Topology& t, const std::vector<std::pair<int, int>>& pairs) {
  std::vector<RankPair> ends;
  for (const auto& [src, dst] : pairs) {
    if (std::min(src, dst) < 0 || std::max(src, dst) >= t.rank_count() || src == dst)
      throw ArgumentError("paths: expected two ranks of '" + t.name() + "', found " + std::to_string(src) +
                          " and " + std::to_string(dst));
    ends.push_back({Rank{src}, Rank{dst}});
  }
  return ends;
}

/// The links between the ranks of each pair, in their order.
std::vector<std::vector<int>> paths_of(const Topology& t, const std::vector<std::pair<int, int>>& pairs) {
  const std::vector<RankPair> ends = ranks_of(t, pairs);
  const Routes routes(t, ends, kLargeMessage);
  std::vector<std::vector<int>> links;
  for (std::uint32_t p = 0; p < ends.size(); ++p)
    links.emplace_back(routes.path(p).begin(), routes.path(p).end());
  return links;
}

using Shares = std::vector<std::pair<int, double>>;  ///< links, each with its share of a message

/// The links between the ranks of each pair for messages of that size; those side by side stand together.
std::vector<std::vector<Shares>> routes_of(const Topology& t, const std::vector<std::pair<int, int>>& pairs,
                                           double message_bytes) {
  const JoinedWays ways(t, message_bytes);
  const Routes routes(ways.topology(), ranks_of(t, pairs), message_bytes);
  std::vector<std::vector<Shares>> found(pairs.size());
  for (std::uint32_t p = 0; p < pairs.size(); ++p)
    for (const int link : routes.path(p)) found[p].push_back(ways.shares_of(link));
  return found;
}

using NicRow = std::tuple<std::string, int, std::vector<int>>;  ///< name, host, links

std::vector<NicRow> nic_rows(const Topology& t) {
  std::vector<NicRow> rows;
  for (const Nic& nic : t.nics()) rows.emplace_back(nic.name, nic.host, nic.links);
  return rows;
}

std::vector<Nic> nics_from(const std::vector<NicRow>& rows) {
  std::vector<Nic> nics;
  for (const auto& [name, host, links] : rows) nics.push_back({name, host, links});
  return nics;
}

/// The pickled state. States written before switches had abilities end with the launch, those before operations had a launch with the names, those before vertices had names
/// with the NICs, and those before NICs with the nodes; their links know no cost of a message.
nb::tuple state_of(const Topology& t) {
  return nb::make_tuple(t.name(), t.rank_count(), t.switch_count(), links_array(t), t.node_of_rank(),
                        nic_rows(t), t.vertex_names(), t.hardware().launch, able_switches(t, kReduces),
                        able_switches(t, kMulticasts));
}

void restore_topology(Topology& self, const nb::tuple& state) {
  const auto nics = state.size() > 5 ? nb::cast<std::vector<NicRow>>(state[5]) : std::vector<NicRow>{};
  auto names = state.size() > 6 ? nb::cast<std::vector<std::string>>(state[6]) : std::vector<std::string>{};
  Hardware hardware;
  if (state.size() > 7) hardware.launch = nb::cast<Picoseconds>(state[7]);
  if (state.size() > 9) {
    const int ranks = nb::cast<int>(state[1]), switches = nb::cast<int>(state[2]);
    const auto set = [&](std::size_t at, bool SwitchAbility::* ability, const char* name) {
      set_able(&hardware.switches, nb::cast<std::vector<int>>(state[at]), ranks, switches, ability, name);
    };
    set(8, kReduces, "reduces");
    set(9, kMulticasts, "multicasts");
  }
  new (&self) Topology(nb::cast<std::string>(state[0]), nb::cast<int>(state[1]), nb::cast<int>(state[2]),
                       links_from(state[3]), nb::cast<std::vector<int>>(state[4]), nics_from(nics),
                       std::move(names), std::move(hardware));
}

void bind_names(nb::class_<Topology>& topology) {
  topology
      .def_prop_ro("names", &Topology::vertex_names,
                   "The name of each vertex, \"\" for one without a name; empty where none has one.")
      .def(
          "called",
          [](const Topology& t, int vertex) {
            if (vertex < 0 || vertex >= t.vertex_count())
              throw ArgumentError("called: expected a vertex 0 … " + std::to_string(t.vertex_count() - 1) +
                                  ", found " + std::to_string(vertex));
            return called(t, Vertex{vertex});
          },
          "vertex"_a,
          R"(Say in words which vertex a number is: its name, and of a rank its number.

Parameters
----------
vertex : int.

Returns
-------
str, such as "rank 3", "switch 9" or "NVSwitch".

Raises
------
ArgumentError
    A number of no vertex.
)")
      .def(
          "vertex", [](const Topology& t, const std::string& name) { return int{find_vertex(t, name)}; },
          "name"_a,
          R"(Find a vertex by its name, or by its number in decimal.

Parameters
----------
name : str, such as "GPU3", "1/NVSwitch" where several hosts have one, or "12".

Returns
-------
int, its number.

Raises
------
ArgumentError
    No vertex has the name, which is said with the closest one; or several hosts do.
)");
}

}  // namespace

void bind_topology(nb::module_& m) {
  nb::class_<Topology> topology(m, "Topology",
                                R"(The network: ranks, switches, nodes (hosts) and directed links; immutable.

Vertices are numbered: ranks 0 … rank_count-1, then switches from rank_count up.

Parameters
----------
rank_count : int, at least 1.
links : rows (src, dst, latency_s, bandwidth) or (src, dst, latency_s, bandwidth, message_s), or an array such as
    `Topology.links`; times in seconds, bandwidth in bytes per second. A message of n bytes occupies a link for message_s
    + n / bandwidth; the last byte arrives latency_s later. Parallel links are allowed.
switch_count : int, vertices that are not ranks.
nodes : the host of each rank, 0 … node_count-1 without gaps; empty when every rank is a host of its own.
nics : rows (name, host, links): network cards by name, and the links, by their places in `links`, that are a card's: all
    that becomes slower with it. A cable between two cards is in both. Rows of one name and host are one card.
names : the name of each vertex, such as GPU0, NVSwitch or 1/CPU0 (HOST/NAME); none, or one per vertex, "" for those
    that have none. No two are the same.
launch_s : float, seconds from an operation's call on a rank until the rank can send: a GPU starts its kernel. Every
    simulated time and every lower bound has it.
reduces, multicasts : the switches, by their vertices, that add what several ranks send, and that forward one message to
    several ranks, as NVSwitch and SHARP do.
name : str, of the whole network.

Raises
------
ArgumentError
    A link with an unknown end, equal ends, a bandwidth that is not finite and above 0, or a latency or message_s below
    0 or above 1000 s. A launch_s below 0 or above 1000 s. A vertex of
    `reduces` or `multicasts` that is no switch. More than 4,194,304 vertices or 16,777,216 links. A NIC of an unknown host, with unknown links
    or none, or with a name that is longer than 64 characters or has spaces, quotes, brackets or one of / , = : #.
    Names of vertices that are none or the same.
)");
  topology
      .def(
          "__init__",
          [](Topology* self, int rank_count, const nb::object& links, int switch_count,
             std::vector<int> nodes, const std::vector<NicRow>& nics, std::vector<std::string> names,
             double launch_s, const std::vector<int>& reduces, const std::vector<int>& multicasts,
             std::string name) {
            std::vector<Link> rows = links_from(links);
            Hardware hardware{from_seconds(launch_s), {}};
            set_able(&hardware.switches, reduces, rank_count, switch_count, kReduces, "reduces");
            set_able(&hardware.switches, multicasts, rank_count, switch_count, kMulticasts, "multicasts");
            const LongCall call;
            new (self) Topology(std::move(name), rank_count, switch_count, std::move(rows), std::move(nodes),
                                nics_from(nics), std::move(names), std::move(hardware));
          },
          "rank_count"_a, "links"_a, nb::kw_only(), "switch_count"_a = 0, "nodes"_a = std::vector<int>{},
          "nics"_a = std::vector<NicRow>{}, "names"_a = std::vector<std::string>{}, "launch_s"_a = 0.0,
          "reduces"_a = std::vector<int>{}, "multicasts"_a = std::vector<int>{}, "name"_a = "")
      .def_prop_ro("name", &Topology::name, "The network's name in reports.")
      .def_prop_ro("rank_count", &Topology::rank_count, "How many ranks there are.")
      .def_prop_ro("switch_count", &Topology::switch_count, "How many vertices are not ranks.")
      .def_prop_ro("link_count", &Topology::link_count, "How many directed links there are.")
      .def_prop_ro("node_count", &Topology::node_count, "How many hosts the ranks are spread over.")
      .def_prop_ro("links", &links_array, nb::sig("def links(self) -> numpy.typing.NDArray[numpy.void]"),
                   "Links as a read-only structured array: src, dst (int32), latency_s, bandwidth (float64, "
                   "B/s), message_s.")
      .def_prop_ro("nodes", &nodes_array, nb::sig("def nodes(self) -> numpy.typing.NDArray[numpy.int32]"),
                   "The host of each rank, as a read-only int32 array.")
      .def_prop_ro("nics", &nic_rows,
                   "Network cards whose names are known, host by host: (name, host, places of their links).")
      .def_prop_ro(
          "launch_s", [](const Topology& t) { return to_seconds(t.hardware().launch); },
          "Seconds from an operation's call on a rank until the rank can send.")
      .def_prop_ro(
          "reduces", [](const Topology& t) { return able_switches(t, kReduces); },
          "The switches that add what several ranks send, by their vertices.")
      .def_prop_ro(
          "multicasts", [](const Topology& t) { return able_switches(t, kMulticasts); },
          "The switches that forward one message to several ranks, by their vertices.")
      .def(
          "host_bandwidths",
          [](const Topology& t, const RankFactors& slow) {
            const Conditions conditions = conditions_of({}, slow);
            conditions.check(t.rank_count());
            return host_bandwidths(t, slowed_bandwidths(t, conditions));
          },
          "slow"_a = RankFactors{},
          R"(Return the bandwidth out of each host, in bytes per second.

Parameters
----------
slow : mapping of rank to factor >= 1 by which its links are slower now.

Returns
-------
list of float, one per host. A rank has its share of a NIC that ranks of its host share. Where every rank has links to other
hosts, or shares, as many times its weakest rank's as it has ranks; otherwise the sum.

Raises
------
ArgumentError
    An unknown rank, a factor below 1 or not finite.
)")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const Topology& t) { return t.fingerprint() >> 1; })
      .def("__repr__", &repr_of)
      .def("__getstate__", &state_of)
      .def("__setstate__", &restore_topology);
  bind_names(topology);
  bind_hops(m);
  m.def("paths", &paths_of, "topology"_a, "pairs"_a,
        "The links that messages from src to dst use, by their places in Topology.links.");
  m.def(
      "with_joined_ways",
      [](const Topology& t, double message_bytes) { return JoinedWays(t, message_bytes).topology(); },
      "topology"_a, "message_bytes"_a,
      "The topology as messages of that size see it: ways side by side are one link. The same where there "
      "are none.");
  m.def("routes", &routes_of, "topology"_a, "pairs"_a, "message_bytes"_a,
        "The links that messages of that size from src to dst use, one after the other; links that share a "
        "message "
        "stand together, each with its share. Pairs ascend by src.");
  bind_topology_copies(topology);
  bind_topology_formats(topology);
}

}  // namespace hemiola::bindings
