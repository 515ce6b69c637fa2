// The builders of regular networks, hemiola.topologies: seconds and bytes per second in, a Topology out.
#include <nanobind/stl/string.h>

#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/dimensions.hpp"
#include "hemiola/bindings/topology.hpp"
#include "hemiola/topology/builders/dragonfly.hpp"
#include "hemiola/topology/builders/fully_connected.hpp"
#include "hemiola/topology/builders/ring.hpp"
#include "hemiola/topology/builders/switch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

using namespace hemiola::topologies;

/// A builder of grids whose dimensions are all wired alike.
auto uniform_grid(Wires wires) {
  return [wires](const std::vector<int>& dims, const PerItem& latency_s, const PerItem& bandwidth) {
    return grid(dimensions_of(std::vector<Wires>(dims.size(), wires), dims, latency_s, bandwidth));
  };
}

/// A builder of grids with a fixed number of dimensions, each wired in its own way.
auto fixed_grid(const char* name, std::vector<Wires> wires) {
  return [name, wires](const std::vector<int>& dims, const PerItem& latency_s, const PerItem& bandwidth) {
    if (dims.size() != wires.size())
      throw ArgumentError(std::string(name) + ": expected " + std::to_string(wires.size()) +
                          " dimensions, found " + std::to_string(dims.size()) +
                          "; 'mesh' and 'grid' take any number");
    return grid(dimensions_of(wires, dims, latency_s, bandwidth));
  };
}

void bind_flat(nb::module_& t) {
  t.def(
      "ring",
      [](int n, double latency_s, double bandwidth, bool bidirectional) {
        return ring(n, {from_seconds(latency_s), bandwidth}, {bidirectional});
      },
      "rank_count"_a, nb::kw_only(), "latency_s"_a, "bandwidth"_a, "bidirectional"_a = true,
      R"(Link every rank to the next one, and to the one before unless bidirectional is False.

Two ranks have one link each way. Latency in seconds, bandwidth in bytes per second and direction.
)");
  t.def(
      "fully_connected",
      [](int n, double latency_s, double bandwidth) {
        return fully_connected(n, {from_seconds(latency_s), bandwidth});
      },
      "rank_count"_a, nb::kw_only(), "latency_s"_a, "bandwidth"_a,
      "Give every rank a link of its own, of the given bandwidth, to every other rank.");
  t.def(
      "switch",
      [](int n, double latency_s, double bandwidth) {
        return switch_(n, {from_seconds(latency_s), bandwidth});
      },
      "rank_count"_a, nb::kw_only(), "latency_s"_a, "bandwidth"_a,
      R"(Give every rank one port of the given bandwidth on one switch.

latency_s is that from rank to rank; each of the two hops has half of it.
)");
}

void bind_grids(nb::module_& t) {
  t.def("mesh", uniform_grid(Wires::line), "dims"_a, nb::kw_only(), "latency_s"_a, "bandwidth"_a,
        R"(Join ranks on an n-dimensional grid by lines: a rank's neighbours differ by 1 in one coordinate.

Rank = x0 + dims[0] * (x1 + dims[1] * …). latency_s and bandwidth are one number, or one per dimension.
)");
  t.def("torus", uniform_grid(Wires::ring), "dims"_a, nb::kw_only(), "latency_s"_a, "bandwidth"_a,
        R"(Join ranks on an n-dimensional grid by two-way rings.

Rank = x0 + dims[0] * (x1 + dims[1] * …). A dimension of size 2 has one link each way, not two. latency_s and bandwidth
are one number, or one per dimension.
)");
  t.def("hypercube", fixed_grid("hypercube", {3, Wires::line}), "dims"_a, nb::kw_only(), "latency_s"_a,
        "bandwidth"_a,
        R"(Join ranks on a 3D grid by lines: what [TACOS, Table IV] calls a 3D hypercube.

The same as mesh with three dimensions. The binary n-cube that other papers call a hypercube is mesh([2] * n).
)");
  t.def(
      "grid",
      [](const std::vector<int>& dims, const std::vector<std::string>& wires, const PerItem& latency_s,
         const PerItem& bandwidth) { return grid(dimensions_of(wires, dims, latency_s, bandwidth)); },
      "dims"_a, "wires"_a, nb::kw_only(), "latency_s"_a, "bandwidth"_a,
      R"(Join ranks on an n-dimensional grid, each dimension in its own way.

Parameters
----------
dims : sizes of the dimensions, the first varies fastest.
wires : per dimension 'line', 'ring', 'fully_connected' or 'switch' (a switch for every row).
latency_s, bandwidth : one number, or one per dimension; of a link, or of a port for 'switch'.
)");
}

void bind_papers(nb::module_& t) {
  t.def(
      "switch_2d", fixed_grid("switch_2d", {2, Wires::switched}), "dims"_a, nb::kw_only(), "latency_s"_a,
      "bandwidth"_a,
      R"(Join ranks on a 2D grid by a switch for every row and every column: the 2D switch of [TACOS, Table IV].

The paper's is switch_2d([8, 4], latency_s=0.5e-6, bandwidth=[300e9, 25e9]); bandwidths are those of ports.
)");
  t.def(
      "rfs_3d", fixed_grid("rfs_3d", {Wires::ring, Wires::all_pairs, Wires::switched}), "dims"_a,
      nb::kw_only(), "latency_s"_a, "bandwidth"_a,
      R"(Join ranks on a 3D grid by rings, all pairs and switches: the 3D ring-FC-switch of [TACOS, Table IV].

The paper's has dims [2, 4, nodes] and bandwidths [200e9, 100e9, 50e9]; we read them as those of one link of a ring (each
way), one link of a pair, and one port of a switch. A ring of two is one link each way.
)");
  t.def(
      "dragonfly",
      [](const std::vector<int>& dims, const PerItem& latency_s, const PerItem& bandwidth) {
        if (dims.size() != 2)
          throw ArgumentError("dragonfly: expected dims [ranks per group, groups], found " +
                              std::to_string(dims.size()) + " numbers");
        const std::vector<double> latencies = values_of(latency_s, 2, "latency");
        const std::vector<double> bandwidths = values_of(bandwidth, 2, "bandwidth");
        return dragonfly({dims[0], dims[1]}, {from_seconds(latencies[0]), bandwidths[0]},
                         {from_seconds(latencies[1]), bandwidths[1]});
      },
      "dims"_a, nb::kw_only(), "latency_s"_a, "bandwidth"_a,
      R"(Join ranks into fully connected groups, and every two groups by one global link [Kim et al., ISCA 2008].

Parameters
----------
dims : [ranks per group, groups]. With one group more than ranks in a group, every rank has one global link. The
    DragonFly of [TACOS, §VI-B] is dragonfly([4, 5], latency_s=0.5e-6, bandwidth=[400e9, 200e9]).
latency_s, bandwidth : one number, or [within a group, between groups]; of a link.
)");
}

}  // namespace

void bind_topologies(nb::module_& m) {
  nb::module_ t = m.def_submodule("topologies", "Builders of common networks.");
  bind_flat(t);
  bind_grids(t);
  bind_papers(t);
  bind_machines(t);
}

}  // namespace hemiola::bindings
