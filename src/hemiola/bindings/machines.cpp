// The builders of machines that people own, hemiola.topologies: hosts with NICs, cabled boxes, DGX racks.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "hemiola/bindings/per_item.hpp"
#include "hemiola/bindings/topology.hpp"
#include "hemiola/topology/builders/boxes.hpp"
#include "hemiola/topology/builders/dgx.hpp"
#include "hemiola/topology/builders/hosts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

using namespace hemiola::topologies;

std::vector<LinkCost> nics_from(int count, const PerItem& latency_s, const PerItem& bandwidth) {
  check_range("hosts", "NICs per host", count, 0, 4096);
  const std::vector<double> latencies = values_of(latency_s, static_cast<std::size_t>(count), "NIC latency");
  const std::vector<double> bandwidths =
      values_of(bandwidth, static_cast<std::size_t>(count), "NIC bandwidth");
  std::vector<LinkCost> nics;
  for (std::size_t i = 0; i < latencies.size(); ++i)
    nics.push_back({from_seconds(latencies[i]), bandwidths[i]});
  return nics;
}

Host host_from(int rank_count, int nic_count, double latency_s, double bandwidth,
               const PerItem& nic_latency_s, const PerItem& nic_bandwidth, const std::string& inside) {
  return {rank_count,
          wires_of(inside),
          {from_seconds(latency_s), bandwidth},
          nics_from(nic_count, nic_latency_s, nic_bandwidth)};
}

void bind_hosts(nb::module_& t) {
  t.def(
      "hosts",
      [](int host_count, int ranks_per_host, int nics_per_host, double latency_s, double bandwidth,
         const PerItem& nic_latency_s, const PerItem& nic_bandwidth, const std::string& inside, bool rails) {
        const Host host = host_from(ranks_per_host, nics_per_host, latency_s, bandwidth, nic_latency_s,
                                    nic_bandwidth, inside);
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
nic_latency_s, nic_bandwidth : float, from NIC to NIC across the network; the bandwidth of one NIC. One number, or one
    per NIC where they are mixed.
inside : 'switch', 'fully_connected', 'ring' or 'line', how the ranks of a host are joined.
rails : bool, whether NIC i of every host is on a switch of its own; otherwise all are on one switch.
)");
  nb::class_<Host>(t, "Host",
                   "One host of a `cluster`: its ranks, how they are joined, its NICs; see `hosts`.")
      .def(
          "__init__",
          [](Host* self, int rank_count, int nic_count, double latency_s, double bandwidth,
             const PerItem& nic_latency_s, const PerItem& nic_bandwidth, const std::string& inside) {
            new (self) Host(
                host_from(rank_count, nic_count, latency_s, bandwidth, nic_latency_s, nic_bandwidth, inside));
          },
          "rank_count"_a, "nic_count"_a = 1, nb::kw_only(), "latency_s"_a, "bandwidth"_a, "nic_latency_s"_a,
          "nic_bandwidth"_a, "inside"_a = "switch");
  t.def(
      "cluster", [](const std::vector<Host>& all, bool rails) { return hosts(all, {rails}); }, "hosts"_a,
      nb::kw_only(), "rails"_a = false,
      R"(Build hosts that differ in ranks, inner links or NICs, behind a switch.

Parameters
----------
hosts : list of Host; ranks are numbered in this order.
rails : bool, whether NIC i of every host is on a switch of its own; otherwise all are on one switch.
)");
}

std::vector<std::pair<int, int>> cabling_of(
    int box_count, const std::variant<std::string, std::vector<std::pair<int, int>>>& cables) {
  if (const auto* pairs = std::get_if<std::vector<std::pair<int, int>>>(&cables)) return *pairs;
  const std::string& text = std::get<std::string>(cables);
  if (text == "ring") return ring_of_boxes(box_count);
  if (text == "fully_connected") return all_pairs_of_boxes(box_count);
  throw ArgumentError("boxes: expected 'ring', 'fully_connected' or pairs of boxes, found '" +
                      text.substr(0, 60) + "'");
}

void bind_boxes(nb::module_& t) {
  t.def(
      "boxes",
      [](int box_count, const std::variant<std::string, std::vector<std::pair<int, int>>>& cables,
         int ranks_per_box, const PerItem& cable_latency_s, const PerItem& cable_bandwidth, double latency_s,
         double bandwidth, const std::string& inside) {
        const std::vector<std::pair<int, int>> pairs = cabling_of(box_count, cables);
        const std::vector<double> latencies = values_of(cable_latency_s, pairs.size(), "cable latency");
        const std::vector<double> bandwidths = values_of(cable_bandwidth, pairs.size(), "cable bandwidth");
        std::vector<Cable> laid;
        for (std::size_t c = 0; c < pairs.size(); ++c)
          laid.push_back({pairs[c].first, pairs[c].second, {from_seconds(latencies[c]), bandwidths[c]}});
        return boxes(box_count, laid,
                     {ranks_per_box, wires_of(inside), {from_seconds(latency_s), bandwidth}});
      },
      "box_count"_a, "cables"_a = "ring", nb::kw_only(), "ranks_per_box"_a = 1, "cable_latency_s"_a,
      "cable_bandwidth"_a, "latency_s"_a = 1e-6, "bandwidth"_a = 25e9, "inside"_a = "fully_connected",
      R"(Cable boxes directly to each other, without a switch: rings and partial meshes of a few machines.

Parameters
----------
box_count : int, 1 … 4096.
cables : 'ring', 'fully_connected', or pairs of boxes such as [(0, 1), (1, 2)]; each cable carries both ways at once.
ranks_per_box : int; several ranks of a box share its cables, each of which ends in a vertex of its own there.
cable_latency_s, cable_bandwidth : one number, or one per cable (mixed NICs); latency from rank to rank.
latency_s, bandwidth : between ranks of one box; no use where a box is one rank.
inside : 'fully_connected', 'switch', 'ring' or 'line', how the ranks of a box are joined.
)");
}

void bind_dgx(nb::module_& t) {
  t.def(
      "dgx1",
      [](double latency_s, double bandwidth, bool parallel_links) {
        return dgx1({from_seconds(latency_s), bandwidth}, {parallel_links});
      },
      nb::kw_only(), "latency_s"_a = 0.7e-6, "bandwidth"_a = 25e9, "parallel_links"_a = false,
      R"(Build a DGX-1 with eight V100s: NVLink as a hybrid cube mesh, six NVLinks at every GPU.

latency_s and bandwidth are one NVLink's [TACOS, §VI-B5]. Half of the pairs share two NVLinks: one link of twice the
bandwidth, or two links where parallel_links is True.
)");
  const auto bind_rack = [&t](const char* name, const char* title, double nvlink_bandwidth,
                              double nic_bandwidth, const char* doc) {
    t.def(
        name,
        [title](int box_count, double latency_s, double bandwidth, double nic_latency_s, double nic_bandwidth,
                bool rails) {
          return dgx_rack(title, {box_count,
                                  {from_seconds(latency_s), bandwidth},
                                  {from_seconds(nic_latency_s), nic_bandwidth},
                                  rails});
        },
        "box_count"_a = 1, nb::kw_only(), "latency_s"_a = 0.7e-6, "bandwidth"_a = nvlink_bandwidth,
        "nic_latency_s"_a = 5e-6, "nic_bandwidth"_a = nic_bandwidth, "rails"_a = true, doc);
  };
  bind_rack("dgx_a100", "DGX A100", 300e9, 25e9,
            R"(Build DGX A100 boxes: eight GPUs on an NVSwitch, 12 NVLinks and a 200 Gbit/s NIC for each.

bandwidth is all NVLinks of a GPU together, nominal, in one direction. Several boxes are joined by their NICs: NIC i of
all boxes on switch i (rails), or all NICs on one switch. A single box has no NICs.
)");
  bind_rack("dgx_h100", "DGX H100", 450e9, 50e9,
            R"(Build DGX H100 boxes: eight GPUs on an NVSwitch, 18 NVLinks and a 400 Gbit/s NIC for each.

bandwidth is all NVLinks of a GPU together, nominal, in one direction. Several boxes are joined by their NICs: NIC i of
all boxes on switch i (rails), or all NICs on one switch. A single box has no NICs.
)");
}

}  // namespace

void bind_machines(nb::module_& topologies) {
  bind_hosts(topologies);
  bind_boxes(topologies);
  bind_dgx(topologies);
}

}  // namespace hemiola::bindings
