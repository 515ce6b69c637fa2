// SPDX-License-Identifier: Apache-2.0
// Methods of hemiola.Topology that return a changed copy.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <string_view>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/long_call.hpp"
#include "hemiola/bindings/switch_abilities.hpp"
#include "hemiola/bindings/topology.hpp"
#include "hemiola/topology/degraded.hpp"
#include "hemiola/topology/repeated.hpp"
#include "hemiola/topology/unwound.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

VertexPair to_pair(const std::pair<int, int>& pair) {
  return {Vertex{pair.first}, Vertex{pair.second}};
}

Topology copy_without_links(const Topology& t, const std::vector<std::pair<int, int>>& pairs,
                            bool both_ways) {
  std::vector<VertexPair> gone;
  for (const auto& [src, dst] : pairs) {
    gone.push_back(to_pair({src, dst}));
    if (both_ways) gone.push_back(to_pair({dst, src}));
  }
  return without_links(t, gone);
}

Topology copy_without_ranks(const Topology& t, const std::vector<int>& ranks) {
  return without_ranks(t, std::vector<Rank>(ranks.begin(), ranks.end()));
}

Topology copy_of_ranks(const Topology& t, const std::vector<int>& ranks) {
  return of_ranks(t, std::vector<Rank>(ranks.begin(), ranks.end()));
}

constexpr std::string_view kNicKey = "nic:";  ///< before the name of a card

/// Keys are ranks, pairs (src, dst) or "nic:NAME".
Slowdown slowdown_from(const nb::dict& factors) {
  Slowdown slowdown;
  for (const auto& [key, value] : factors) {
    int rank = 0;
    std::pair<int, int> pair;
    std::string text;
    double factor = 0;
    if (!nb::try_cast(value, factor))
      throw ArgumentError(std::string("degraded: expected a number as factor, found ") +
                          nb::repr(value).c_str());
    if (nb::try_cast(key, rank))
      slowdown.ranks[Rank{rank}] = factor;
    else if (nb::try_cast(key, pair))
      slowdown.links[to_pair(pair)] = factor;
    else if (nb::try_cast(key, text) && text.starts_with(kNicKey))
      slowdown.nics[text.substr(kNicKey.size())] = factor;
    else
      throw ArgumentError(
          std::string("degraded: expected a rank, a pair (src, dst) or a NIC such as 'nic:mlx5_1', found ") +
          nb::repr(key).c_str());
  }
  return slowdown;
}

Topology copy_repeated(const Topology& t, int count, const std::vector<int>& shared) {
  std::vector<Vertex> switches;
  for (int vertex : shared) switches.push_back(Vertex{vertex});
  return repeated(t, count, switches);
}

using Vertices = std::optional<std::vector<int>>;

Topology replaced(const Topology& t, const nb::object& links, const std::optional<double>& launch_s,
                  const Vertices& reduces, const Vertices& multicasts,
                  const std::optional<std::string>& name) {
  std::vector<Link> rows = links.is_none() ? t.links() : links_from(links);
  if (!t.nics().empty() && rows.size() != t.links().size())
    throw ArgumentError("replaced: expected as many links as NICs refer to, " +
                        std::to_string(t.links().size()) + ", found " + std::to_string(rows.size()));
  Hardware hardware = t.hardware();
  if (launch_s) hardware.launch = from_seconds(*launch_s);
  const auto set = [&](const Vertices& able, bool SwitchAbility::* ability, const char* what) {
    if (able) set_able(&hardware.switches, *able, t.rank_count(), t.switch_count(), ability, what);
  };
  set(reduces, kReduces, "reduces");
  set(multicasts, kMulticasts, "multicasts");
  return Topology(name.value_or(t.name()), t.rank_count(), t.switch_count(), std::move(rows),
                  t.node_of_rank(), t.nics(), t.vertex_names(), std::move(hardware));
}

void bind_replaced(nb::class_<Topology>& topology) {
  topology.def(
      "replaced", &replaced, nb::kw_only(), "links"_a = nb::none(), "launch_s"_a = nb::none(),
      "reduces"_a = nb::none(), "multicasts"_a = nb::none(), "name"_a = nb::none(),
      nb::sig(
          "def replaced(self, *, links: typing.Any = None, launch_s: float | None = None, "
          "reduces: collections.abc.Sequence[int] | None = None, "
          "multicasts: collections.abc.Sequence[int] | None = None, name: str | None = None) -> Topology"),
      R"(Return a copy with another of these parts; None keeps this one's.

Parameters
----------
links : rows or an array, as the constructor takes; where NICs have names, as many links as now, since NICs keep their
    places.
launch_s : float, seconds from an operation's call on a rank until the rank can send.
reduces, multicasts : the switches that do so, by their vertices.
name : str, of the whole network.

Returns
-------
Topology

Raises
------
ArgumentError
    Parts that the constructor refuses, or another number of links where NICs have names.
)");
}

}  // namespace

void bind_topology_copies(nb::class_<Topology>& topology) {
  bind_replaced(topology);
  topology
      .def("without_links", &copy_without_links, nb::call_guard<LongCall>(), "links"_a, nb::kw_only(),
           "both_ways"_a = true,
           R"(Return a copy without these links.

Parameters
----------
links : pairs (src, dst) of vertices; all parallel links of a pair go.
both_ways : bool, whether the links from dst to src go too, as when a cable is cut.

Returns
-------
Topology

Raises
------
ArgumentError
    There is no link from src to dst (or back, where both go).
)")
      .def("without_nics", &without_nics, nb::call_guard<LongCall>(), "nics"_a,
           R"(Return a copy without the links of these network cards, as when they are not to be used.

Parameters
----------
nics : sequence of str, NAME or, where several hosts have it, HOST/NAME.

Returns
-------
Topology

Raises
------
ArgumentError
    A NIC that the topology has not, or that several of its hosts have.
)")
      .def("without_ranks", &copy_without_ranks, nb::call_guard<LongCall>(), "ranks"_a,
           R"(Return a copy without these ranks and all their links, such as 7 GPUs of 8.

Parameters
----------
ranks : sequence of int, without repetition or with.

Returns
-------
Topology
    The remaining network, renumbered in order: ranks, switches, nodes.

Raises
------
ArgumentError
    A rank that does not exist, or none would be left.
)")
      .def("of_ranks", &copy_of_ranks, nb::call_guard<LongCall>(), "ranks"_a,
           R"(Return a copy of these ranks alone, such as a group's, numbered in the order given.

Parameters
----------
ranks : sequence of int, each once.

Returns
-------
Topology
    Switches and nodes are renumbered in order, as in `without_ranks`.

Raises
------
ArgumentError
    A rank that does not exist or is named twice, or none.
)")
      .def(
          "degraded",
          [](const Topology& t, const nb::dict& factors) {
            const Slowdown slowdown = slowdown_from(factors);
            const LongCall call;
            return degraded(t, slowdown);
          },
          "factors"_a,
          nb::sig("def degraded(self, factors: dict[int | tuple[int, int] | str, float]) "
                  "-> Topology"),
          R"(Return a copy in which some links are slower.

Parameters
----------
factors : rank, (src, dst) or "nic:NAME" -> factor >= 1 by which bandwidth is divided; of a rank and a NIC, that of all
    its links in both directions; "nic:HOST/NAME" where several hosts have that name. Between two slow ranks the slower
    one counts, between two slow NICs too; a NIC's factor and a link's own come on top.

Returns
-------
Topology

Raises
------
ArgumentError
    An unknown rank, a pair without a link, a NIC that there is not or that several hosts have, a factor below 1 or not
    finite.
)")
      .def("with_slow_hosts", &with_slow_hosts, nb::call_guard<LongCall>(), "factors"_a,
           R"(Return a copy in which some hosts' links to others are slower, as when NICs are lost.

Parameters
----------
factors : mapping of host to factor >= 1 by which the bandwidth of its links to other hosts is divided, in both directions;
    links inside hosts stay as they are. Between two slow hosts the slower one counts.

Returns
-------
Topology

Raises
------
ArgumentError
    An unknown host, a factor below 1 or not finite.
)")
      .def("repeated", &copy_repeated, nb::call_guard<LongCall>(), "count"_a, nb::kw_only(),
           "shared"_a = std::vector<int>{},
           R"(Return `count` copies of this box side by side, joined at the switches they share.

Parameters
----------
count : int, at least 1.
shared : switch vertices of this topology that all copies have in common, such as the core that its NICs are on.

Returns
-------
Topology
    Ranks of copy 0, of copy 1, …, then each copy's own switches, then the shared ones.

Raises
------
ArgumentError
    A count below 1, a shared vertex that is no switch, or a network larger than a Topology may be.
)")
      .def("unwind_switches", &unwound, nb::call_guard<LongCall>(), "degree"_a,
           R"(Return a copy in which links between ranks stand for the switches [TACOS, §IV-G].

Each rank on a switch gets links to the next `degree` ranks on it, of the same latency and 1/degree of its port's
bandwidth. Switches that are linked to each other count as one; a link's bandwidth is then the smallest share on its
path, each hop being shared equally by the new links that cross it. The ranks of a switch form a circle by rank number;
where hosts have several ranks, neighbours in the circle are on different hosts.

Parameters
----------
degree : int, at least 1; at most one less than the ranks on a switch are used.

Returns
-------
Topology

Raises
------
ArgumentError
    A degree below 1; ranks that a switch does not link both ways.
)");
}

}  // namespace hemiola::bindings
