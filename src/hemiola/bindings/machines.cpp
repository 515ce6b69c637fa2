// SPDX-License-Identifier: Apache-2.0
// The builders of machines that people own, hemiola.topologies: hosts with NICs, cabled boxes, DGX racks.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "hemiola/base/per_item.hpp"
#include "hemiola/bindings/long_call.hpp"
#include "hemiola/bindings/topology.hpp"
#include "hemiola/bindings/value_class.hpp"
#include "hemiola/topology/builders/boxes.hpp"
#include "hemiola/topology/builders/dgx.hpp"
#include "hemiola/topology/builders/hosts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

using namespace hemiola::topologies;

/// How hosts are joined; no groups where `nodes_per_group` is not given.
HostsOptions hosts_options(bool rails, std::optional<int> nodes_per_group, double taper) {
  if (nodes_per_group) check_range("hosts", "nodes per group", *nodes_per_group, 1, Topology::kMaxVertices);
  return {rails, nodes_per_group.value_or(0), taper};
}

std::vector<LinkCost> nics_from(int count, const PerItem& latency_s, const PerItem& bandwidth,
                                const PerItem& message_s) {
  check_range("hosts", "NICs per host", count, 0, 4096);
  const std::vector<double> latencies = values_of(latency_s, static_cast<std::size_t>(count), "NIC latency");
  const std::vector<double> bandwidths =
      values_of(bandwidth, static_cast<std::size_t>(count), "NIC bandwidth");
  const std::vector<double> messages =
      values_of(message_s, static_cast<std::size_t>(count), "cost of a NIC's message");
  std::vector<LinkCost> nics;
  for (std::size_t i = 0; i < latencies.size(); ++i)
    nics.push_back(link_cost(latencies[i], bandwidths[i], messages[i]));
  return nics;
}

Host host_from(int rank_count, int nic_count, double latency_s, double bandwidth,
               const PerItem& nic_latency_s, const PerItem& nic_bandwidth, const std::string& inside,
               double message_s, const PerItem& nic_message_s) {
  check_range("hosts", "ranks per host", rank_count, 1, 4096);
  return {rank_count, wires_of(inside), link_cost(latency_s, bandwidth, message_s),
          nics_from(nic_count, nic_latency_s, nic_bandwidth, nic_message_s)};
}

using LinkParts = std::tuple<Picoseconds, double, Picoseconds>;

LinkParts parts_of_link(const LinkCost& cost) {
  return {cost.latency, cost.bandwidth_Bps, cost.message};
}

std::tuple<int, int, LinkParts, std::vector<LinkParts>> parts_of_host(const Host& host) {
  std::vector<LinkParts> cards;
  for (const LinkCost& card : host.cards) cards.push_back(parts_of_link(card));
  return {host.rank_count, static_cast<int>(host.inside), parts_of_link(host.local), std::move(cards)};
}

Host host_of_parts(int rank_count, int inside, const LinkParts& local, const std::vector<LinkParts>& cards) {
  Host host{rank_count, static_cast<Wires>(inside), std::make_from_tuple<LinkCost>(local), {}};
  for (const LinkParts& card : cards) host.cards.push_back(std::make_from_tuple<LinkCost>(card));
  return host;
}

void bind_hosts(nb::module_& t) {
  t.def(
      "hosts",
      [](int host_count, int ranks_per_host, int nics_per_host, double latency_s, double bandwidth,
         const PerItem& nic_latency_s, const PerItem& nic_bandwidth, const std::string& inside, bool rails,
         double message_s, const PerItem& nic_message_s, std::optional<int> nodes_per_group, double taper) {
        const Host host = host_from(ranks_per_host, nics_per_host, latency_s, bandwidth, nic_latency_s,
                                    nic_bandwidth, inside, message_s, nic_message_s);
        return equal_hosts(host_count, host, hosts_options(rails, nodes_per_group, taper));
      },
      "host_count"_a, "ranks_per_host"_a, "nics_per_host"_a = 1, nb::kw_only(), nb::call_guard<LongCall>(),
      "latency_s"_a, "bandwidth"_a, "nic_latency_s"_a, "nic_bandwidth"_a, "inside"_a = "switch",
      "rails"_a = false, "message_s"_a = 0.0, "nic_message_s"_a = 0.0, "nodes_per_group"_a = nb::none(),
      "taper"_a = 1.0,
      builder_doc(
          "Build equal hosts with several ranks and NICs behind a switch.",
          R"(host_count, ranks_per_host, nics_per_host : int. Ranks are numbered host by host. With fewer NICs than ranks, rank r of
    a host uses NIC r * nics // ranks, a vertex of its own where several ranks share it; with more, a rank has several.
latency_s, bandwidth : float, seconds and bytes per second between ranks of one host.
nic_latency_s, nic_bandwidth : float, seconds from NIC to NIC across the network; bytes per second of one NIC. One
    number, or one per NIC where they are mixed.
inside : 'switch', 'fully_connected', 'ring' or 'line', how the ranks of a host are joined.
rails : bool, whether NIC i of every host is on a switch of its own; otherwise all are on one switch.
message_s, nic_message_s : float, seconds that a message occupies a link inside a host, and one of a NIC, beside its bytes.
nodes_per_group : int, optional; so many consecutive hosts have a switch of their own (one for each rail), which is linked with
    the core. From group to group a message takes nic_latency_s more.
taper : float >= 1; a group's uplink has the bandwidth of all its NICs on that switch together, divided by this.
)")
          .c_str());
  auto host_class =
      nb::class_<Host>(t, "Host", R"(One host of a `cluster`: its ranks, how they are joined, its NICs.

Parameters
----------
rank_count, nic_count : int; which rank uses which NIC is as with `hosts`.
latency_s, bandwidth : float, seconds and bytes per second between the host's ranks.
nic_latency_s, nic_bandwidth : float, seconds and bytes per second of a NIC; one number, or one per NIC.
inside : 'switch', 'fully_connected', 'ring' or 'line', how the ranks are joined.
message_s, nic_message_s : float, seconds that a message occupies a link inside, and one of a NIC, beside its bytes.

Raises
------
ArgumentError
    A number out of its range, a list that has not one entry per NIC, or other words for `inside`.
)");
  host_class
      .def(
          "__init__",
          [](Host* self, int rank_count, int nic_count, double latency_s, double bandwidth,
             const PerItem& nic_latency_s, const PerItem& nic_bandwidth, const std::string& inside,
             double message_s, const PerItem& nic_message_s) {
            new (self) Host(host_from(rank_count, nic_count, latency_s, bandwidth, nic_latency_s,
                                      nic_bandwidth, inside, message_s, nic_message_s));
          },
          "rank_count"_a, "nic_count"_a = 1, nb::kw_only(), nb::call_guard<LongCall>(), "latency_s"_a,
          "bandwidth"_a, "nic_latency_s"_a, "nic_bandwidth"_a, "inside"_a = "switch", "message_s"_a = 0.0,
          "nic_message_s"_a = 0.0)
      .def("__repr__", [](const Host& host) {
        return "<Host: " + std::to_string(host.rank_count) + " ranks, " + std::to_string(host.cards.size()) +
               " NICs>";
      });
  bind_as_value(host_class, &parts_of_host, &host_of_parts);
  t.def(
      "cluster",
      [](const std::vector<Host>& all, bool rails, std::optional<int> nodes_per_group, double taper) {
        return hosts(all, hosts_options(rails, nodes_per_group, taper));
      },
      "hosts"_a, nb::kw_only(), nb::call_guard<LongCall>(), "rails"_a = false,
      "nodes_per_group"_a = nb::none(), "taper"_a = 1.0,
      builder_doc("Build hosts that differ in ranks, inner links or NICs, behind a switch.",
                  R"(hosts : list of Host; ranks are numbered in this order.
rails : bool, whether NIC i of every host is on a switch of its own; otherwise all are on one switch.
nodes_per_group, taper : groups of hosts behind uplinks, as with `hosts`.
)")
          .c_str());
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
         double bandwidth, const std::string& inside, double message_s, const PerItem& cable_message_s) {
        const std::vector<std::pair<int, int>> pairs = cabling_of(box_count, cables);
        const std::vector<double> latencies = values_of(cable_latency_s, pairs.size(), "cable latency");
        const std::vector<double> bandwidths = values_of(cable_bandwidth, pairs.size(), "cable bandwidth");
        const std::vector<double> messages =
            values_of(cable_message_s, pairs.size(), "cost of a cable's message");
        std::vector<Cable> laid;
        for (std::size_t c = 0; c < pairs.size(); ++c)
          laid.push_back(
              {pairs[c].first, pairs[c].second, link_cost(latencies[c], bandwidths[c], messages[c])});
        return boxes(box_count, laid,
                     {ranks_per_box, wires_of(inside), link_cost(latency_s, bandwidth, message_s)});
      },
      "box_count"_a, "cables"_a = "ring", nb::kw_only(), nb::call_guard<LongCall>(), "ranks_per_box"_a = 1,
      "cable_latency_s"_a, "cable_bandwidth"_a, "latency_s"_a = 1e-6, "bandwidth"_a = 25e9,
      "inside"_a = "fully_connected", "message_s"_a = 0.0, "cable_message_s"_a = 0.0,
      builder_doc(
          "Cable boxes directly to each other, without a switch: rings and partial meshes of a few machines.",
          R"(box_count : int, 1 … 4096.
cables : 'ring', 'fully_connected', or pairs of boxes such as [(0, 1), (1, 2)]; each cable carries both ways at once.
ranks_per_box : int; several ranks of a box share its cables, each of which ends in a vertex of its own there.
cable_latency_s, cable_bandwidth : float, seconds from rank to rank and bytes per second; one number, or one per cable
    (mixed NICs).
latency_s, bandwidth : float, seconds and bytes per second between ranks of one box; no use where a box is one rank.
inside : 'fully_connected', 'switch', 'ring' or 'line', how the ranks of a box are joined.
message_s, cable_message_s : seconds that a message occupies a link inside a box, and a cable (or one per cable), beside its
    bytes.
)")
          .c_str());
}

constexpr const char* kRackParameters =
    R"(box_count : int, at least 1. Several boxes are joined by their NICs; a single one has none.
latency_s, bandwidth : float, seconds from GPU to GPU of a box; bytes per second of all NVLinks of a GPU together,
    nominal, in one direction.
nic_latency_s, nic_bandwidth : float, seconds from NIC to NIC; bytes per second of one NIC.
rails : bool, whether NIC i of all boxes is on switch i; otherwise all are on one switch.
message_s, nic_message_s : float, seconds that a message occupies an NVLink, and a link of a NIC, beside its bytes.
)";

void bind_dgx(nb::module_& t) {
  t.def(
      "dgx1",
      [](double latency_s, double bandwidth, bool parallel_links, double message_s) {
        return dgx1(link_cost(latency_s, bandwidth, message_s), {parallel_links});
      },
      nb::kw_only(), nb::call_guard<LongCall>(), "latency_s"_a = 0.7e-6, "bandwidth"_a = 25e9,
      "parallel_links"_a = false, "message_s"_a = 0.0,
      builder_doc(
          "Build a DGX-1 with eight V100s: NVLink as a hybrid cube mesh, six NVLinks at every GPU.",
          R"(latency_s, bandwidth : float, seconds and bytes per second, of one NVLink [TACOS, §VI-B5].
parallel_links : bool. Half of the pairs share two NVLinks: two links with True, else one of twice the bandwidth.
message_s : float, seconds that a message occupies a link beside its bytes.
)")
          .c_str());
  const auto bind_rack = [&t](const char* name, const char* title, double nvlink_bandwidth,
                              double nic_bandwidth, SwitchAbility nvswitch, const char* doc) {
    t.def(
        name,
        [title, nvswitch](int box_count, double latency_s, double bandwidth, double nic_latency_s,
                          double nic_bandwidth, bool rails, double message_s, double nic_message_s) {
          return dgx_rack(title, {box_count, link_cost(latency_s, bandwidth, message_s),
                                  link_cost(nic_latency_s, nic_bandwidth, nic_message_s), rails, nvswitch});
        },
        "box_count"_a = 1, nb::kw_only(), nb::call_guard<LongCall>(), "latency_s"_a = 0.7e-6,
        "bandwidth"_a = nvlink_bandwidth, "nic_latency_s"_a = 5e-6, "nic_bandwidth"_a = nic_bandwidth,
        "rails"_a = true, "message_s"_a = 0.0, "nic_message_s"_a = 0.0,
        builder_doc(doc, kRackParameters).c_str());
  };
  bind_rack("dgx_a100", "DGX A100", 300e9, 25e9, {},
            R"(Build DGX A100 boxes: eight GPUs on an NVSwitch, 12 NVLinks and a 200 Gbit/s NIC for each.)");
  bind_rack("dgx_h100", "DGX H100", 450e9, 50e9, {.reduces = true, .multicasts = true},
            R"(Build DGX H100 boxes: eight GPUs on an NVSwitch, 18 NVLinks and a 400 Gbit/s NIC for each.

The NVSwitch, of the third generation, reduces and multicasts (NVLink SHARP).)");
}

}  // namespace

void bind_machines(nb::module_& topologies) {
  bind_hosts(topologies);
  bind_boxes(topologies);
  bind_dgx(topologies);
}

}  // namespace hemiola::bindings
