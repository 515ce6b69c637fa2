// Methods of hemiola.Topology that return a changed copy.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "hemiola/base/error.hpp"
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

/// Keys are ranks or pairs (src, dst).
Slowdown slowdown_from(const nb::dict& factors) {
  Slowdown slowdown;
  for (const auto& [key, value] : factors) {
    int rank = 0;
    std::pair<int, int> pair;
    double factor = 0;
    if (!nb::try_cast(value, factor))
      throw ArgumentError(std::string("degraded: expected a number as factor, found ") +
                          nb::repr(value).c_str());
    if (nb::try_cast(key, rank))
      slowdown.ranks[Rank{rank}] = factor;
    else if (nb::try_cast(key, pair))
      slowdown.links[to_pair(pair)] = factor;
    else
      throw ArgumentError(std::string("degraded: expected a rank or a pair (src, dst), found ") +
                          nb::repr(key).c_str());
  }
  return slowdown;
}

Topology copy_repeated(const Topology& t, int count, const std::vector<int>& shared) {
  std::vector<Vertex> switches;
  for (int vertex : shared) switches.push_back(Vertex{vertex});
  return repeated(t, count, switches);
}

}  // namespace

void bind_topology_copies(nb::class_<Topology>& topology) {
  topology
      .def("without_links", &copy_without_links, "links"_a, nb::kw_only(), "both_ways"_a = true,
           R"(Return a copy without these links.

Parameters
----------
links : pairs (src, dst) of vertices; all parallel links of a pair go.
both_ways : bool, whether the links from dst to src go too, as when a cable is cut.

Raises
------
ArgumentError
    There is no link from src to dst (or back, where both go).
)")
      .def("without_ranks", &copy_without_ranks, "ranks"_a,
           R"(Return a copy without these ranks and all their links, such as 7 GPUs of 8.

What is left is renumbered in order: ranks, switches, nodes. Raises ArgumentError for a rank that does not exist or
when none would be left.
)")
      .def(
          "degraded",
          [](const Topology& t, const nb::dict& factors) { return degraded(t, slowdown_from(factors)); },
          "factors"_a, nb::sig("def degraded(self, factors: dict[int | tuple[int, int], float]) -> Topology"),
          R"(Return a copy in which some links are slower.

Parameters
----------
factors : rank or (src, dst) -> factor >= 1 by which bandwidth is divided; of a rank, that of all its links in both
    directions. Between two slow ranks the slower one counts; a link's own factor comes on top.

Raises
------
ArgumentError
    An unknown rank, a pair without a link, a factor below 1 or not finite.
)")
      .def("with_slow_hosts", &with_slow_hosts, "factors"_a,
           R"(Return a copy in which some hosts' links to others are slower, as when NICs are lost.

Parameters
----------
factors : mapping of host to factor >= 1 by which the bandwidth of its links to other hosts is divided, in both directions;
    links inside hosts stay as they are. Between two slow hosts the slower one counts.

Raises
------
ArgumentError
    An unknown host, a factor below 1 or not finite.
)")
      .def("repeated", &copy_repeated, "count"_a, nb::kw_only(), "shared"_a = std::vector<int>{},
           R"(Return `count` copies of this box side by side, joined at the switches they share.

Parameters
----------
count : int, at least 1.
shared : switch vertices of this topology that all copies have in common, such as the core that its NICs are on.

Returns
-------
Topology
    Ranks of copy 0, of copy 1, …, then each copy's own switches, then the shared ones.
)")
      .def("unwind_switches", &unwound, "degree"_a,
           R"(Return a copy in which links between ranks stand for the switches [TACOS, §IV-G].

Each rank on a switch gets links to the next `degree` ranks on it, of the same latency and 1/degree of its port's
bandwidth. Switches that are linked to each other count as one; a link's bandwidth is then the smallest share on its
path, each hop being shared equally by the new links that cross it. The ranks of a switch form a circle by rank number;
where hosts have several ranks, neighbours in the circle are on different hosts.

Parameters
----------
degree : int, at least 1; at most one less than the ranks on a switch are used.

Raises
------
ArgumentError
    A degree below 1; ranks that a switch does not link both ways.
)");
}

}  // namespace hemiola::bindings
