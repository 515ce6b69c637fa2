// The builders, hemiola.topologies: seconds and bytes per second in, a Topology out.
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/dimensions.hpp"
#include "hemiola/topology/builders/fully_connected.hpp"
#include "hemiola/topology/builders/grid.hpp"
#include "hemiola/topology/builders/hosts.hpp"
#include "hemiola/topology/builders/ring.hpp"
#include "hemiola/topology/builders/switch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

using namespace hemiola::topologies;

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
  constexpr const char* kLine =
      R"(Join ranks on an n-dimensional grid by lines: a rank's neighbours differ by 1 in one coordinate.

Rank = x0 + dims[0] * (x1 + dims[1] * …). latency_s and bandwidth are one number, or one per dimension.
)";
  const auto line = [](const std::vector<int>& dims, const PerDimension& latency_s,
                       const PerDimension& bandwidth) {
    return grid(dimensions_of(Wires::line, dims, latency_s, bandwidth));
  };
  t.def("mesh", line, "dims"_a, nb::kw_only(), "latency_s"_a, "bandwidth"_a, kLine);
  t.def(
      "torus",
      [](const std::vector<int>& dims, const PerDimension& latency_s, const PerDimension& bandwidth) {
        return grid(dimensions_of(Wires::ring, dims, latency_s, bandwidth));
      },
      "dims"_a, nb::kw_only(), "latency_s"_a, "bandwidth"_a,
      R"(Join ranks on an n-dimensional grid by two-way rings.

Rank = x0 + dims[0] * (x1 + dims[1] * …). A dimension of size 2 has one link each way, not two. latency_s and bandwidth
are one number, or one per dimension.
)");
  t.def(
      "hypercube",
      [line](const std::vector<int>& dims, const PerDimension& latency_s, const PerDimension& bandwidth) {
        if (dims.size() != 3)
          throw ArgumentError("hypercube: expected 3 dimensions, found " + std::to_string(dims.size()) +
                              "; use mesh for other grids, mesh([2] * n) for the binary n-cube");
        return line(dims, latency_s, bandwidth);
      },
      "dims"_a, nb::kw_only(), "latency_s"_a, "bandwidth"_a,
      R"(Join ranks on a 3D grid by lines: what [TACOS, Table IV] calls a 3D hypercube.

The same as mesh with three dimensions. The binary n-cube that other papers call a hypercube is mesh([2] * n).
)");
  t.def(
      "grid",
      [](const std::vector<int>& dims, const std::vector<std::string>& wires, const PerDimension& latency_s,
         const PerDimension& bandwidth) { return grid(dimensions_of(wires, dims, latency_s, bandwidth)); },
      "dims"_a, "wires"_a, nb::kw_only(), "latency_s"_a, "bandwidth"_a,
      R"(Join ranks on an n-dimensional grid, each dimension in its own way.

Parameters
----------
dims : sizes of the dimensions, the first varies fastest.
wires : per dimension 'line', 'ring', 'fully_connected' or 'switch' (a switch for every row).
latency_s, bandwidth : one number, or one per dimension; of a link, or of a port for 'switch'.
)");
}

void bind_hosts(nb::module_& t) {
  t.def(
      "hosts",
      [](int host_count, int ranks_per_host, int nics_per_host, double latency_s, double bandwidth,
         double nic_latency_s, double nic_bandwidth, const std::string& inside, bool rails) {
        check_range("hosts", "NICs per host", nics_per_host, 0, 4096);
        const LinkCost card{from_seconds(nic_latency_s), nic_bandwidth};
        const Host host{ranks_per_host,
                        wires_of(inside),
                        {from_seconds(latency_s), bandwidth},
                        std::vector<LinkCost>(static_cast<std::size_t>(nics_per_host), card)};
        return equal_hosts(host_count, host, {rails});
      },
      "host_count"_a, "ranks_per_host"_a, "nics_per_host"_a = 1, nb::kw_only(), "latency_s"_a, "bandwidth"_a,
      "nic_latency_s"_a, "nic_bandwidth"_a, "inside"_a = "switch", "rails"_a = false,
      R"(Build equal hosts with several ranks and NICs behind a switch.

Parameters
----------
host_count, ranks_per_host, nics_per_host : int. Ranks are numbered host by host. With fewer NICs than ranks, rank r of
    a host uses NIC r * nics // ranks, a vertex of its own where several ranks share it; with more, a rank has several.
latency_s, bandwidth : float, between ranks of one host.
nic_latency_s, nic_bandwidth : float, from NIC to NIC across the network; the bandwidth of one NIC.
inside : 'switch', 'fully_connected', 'ring' or 'line', how the ranks of a host are joined.
rails : bool, whether NIC i of every host is on a switch of its own; otherwise all are on one switch.
)");
}

}  // namespace

void bind_topologies(nb::module_& m) {
  nb::module_ t = m.def_submodule("topologies", "Builders of common networks.");
  bind_flat(t);
  bind_grids(t);
  bind_hosts(t);
}

}  // namespace hemiola::bindings
