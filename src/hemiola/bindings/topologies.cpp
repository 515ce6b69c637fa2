// SPDX-License-Identifier: Apache-2.0
// The builders of regular networks, hemiola.topologies: seconds and bytes per second in, a Topology out.
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/long_call.hpp"
#include "hemiola/bindings/topology.hpp"
#include "hemiola/topology/builders/dimensions.hpp"
#include "hemiola/topology/builders/dragonfly.hpp"
#include "hemiola/topology/builders/fully_connected.hpp"
#include "hemiola/topology/builders/ring.hpp"
#include "hemiola/topology/builders/switch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

using namespace hemiola::topologies;

constexpr const char* kFlatParameters =
    R"(rank_count : int, at least 1.
latency_s : float >= 0, seconds.
bandwidth : float > 0, bytes per second in each direction.
message_s : float >= 0, seconds that a message occupies a link beside its bytes.
)";
constexpr const char* kGridParameters =
    R"(dims : sizes of the dimensions, each at least 1; the first varies fastest: rank = x0 + dims[0] * (x1 + dims[1] * …).
latency_s, bandwidth : one number, or one per dimension; seconds and bytes per second, of a link, or of a port of a switch.
message_s : the same, seconds that a message occupies a link beside its bytes.
)";

/// A builder of grids whose dimensions are all wired alike.
auto uniform_grid(Wires wires) {
  return [wires](const std::vector<int>& dims, const PerItem& latency_s, const PerItem& bandwidth,
                 const PerItem& message_s) {
    return grid(dimensions_of(std::vector<Wires>(dims.size(), wires), dims, latency_s, bandwidth, message_s));
  };
}

/// A builder of grids with a fixed number of dimensions, each wired in its own way.
auto fixed_grid(const char* name, std::vector<Wires> wires) {
  return [name, wires](const std::vector<int>& dims, const PerItem& latency_s, const PerItem& bandwidth,
                       const PerItem& message_s) {
    if (dims.size() != wires.size())
      throw ArgumentError(std::string(name) + ": expected " + std::to_string(wires.size()) +
                          " dimensions, found " + std::to_string(dims.size()) +
                          "; 'mesh' and 'grid' take any number");
    return grid(dimensions_of(wires, dims, latency_s, bandwidth, message_s));
  };
}

void bind_flat(nb::module_& t) {
  t.def(
      "ring",
      [](int n, double latency_s, double bandwidth, double message_s, bool bidirectional) {
        return ring(n, link_cost(latency_s, bandwidth, message_s), {bidirectional});
      },
      "rank_count"_a, nb::kw_only(), nb::call_guard<LongCall>(), "latency_s"_a, "bandwidth"_a,
      "message_s"_a = 0.0, "bidirectional"_a = true,
      builder_doc("Link every rank to the next one and to the one before. Two ranks have one link each way.",
                  R"(rank_count : int, at least 1.
latency_s : float >= 0, seconds.
bandwidth : float > 0, bytes per second in each direction.
message_s : float >= 0, seconds that a message occupies a link beside its bytes.
bidirectional : bool; without, ranks have links to the next one only.
)")
          .c_str());
  t.def(
      "fully_connected",
      [](int n, double latency_s, double bandwidth, double message_s) {
        return fully_connected(n, link_cost(latency_s, bandwidth, message_s));
      },
      "rank_count"_a, nb::kw_only(), nb::call_guard<LongCall>(), "latency_s"_a, "bandwidth"_a,
      "message_s"_a = 0.0,
      builder_doc("Give every rank a link of its own, of the given bandwidth, to every other rank.",
                  kFlatParameters)
          .c_str());
  t.def(
      "switch",
      [](int n, double latency_s, double bandwidth, double message_s, bool reduces, bool multicasts) {
        return switch_(n, link_cost(latency_s, bandwidth, message_s), {reduces, multicasts});
      },
      "rank_count"_a, nb::kw_only(), nb::call_guard<LongCall>(), "latency_s"_a, "bandwidth"_a,
      "message_s"_a = 0.0, "reduces"_a = false, "multicasts"_a = false,
      builder_doc(
          R"(Give every rank one port of the given bandwidth on one switch.

The latency is that from rank to rank; each of the two hops has half of it.)",
          (std::string(kFlatParameters) +
           "reduces, multicasts : bool, whether the switch adds what several ranks send, and forwards one "
           "message to\n    several ranks, as SHARP does.\n")
              .c_str())
          .c_str());
}

void bind_grids(nb::module_& t) {
  t.def("mesh", uniform_grid(Wires::line), "dims"_a, nb::kw_only(), nb::call_guard<LongCall>(), "latency_s"_a,
        "bandwidth"_a, "message_s"_a = 0.0,
        builder_doc("Join ranks on an n-dimensional grid by lines: neighbours differ by 1 in one coordinate.",
                    kGridParameters)
            .c_str());
  t.def("torus", uniform_grid(Wires::ring), "dims"_a, nb::kw_only(), nb::call_guard<LongCall>(),
        "latency_s"_a, "bandwidth"_a, "message_s"_a = 0.0,
        builder_doc(R"(Join ranks on an n-dimensional grid by two-way rings.

A dimension of size 2 has one link each way, not two.)",
                    kGridParameters)
            .c_str());
  t.def("hypercube", fixed_grid("hypercube", {3, Wires::line}), "dims"_a, nb::kw_only(),
        nb::call_guard<LongCall>(), "latency_s"_a, "bandwidth"_a, "message_s"_a = 0.0,
        builder_doc(R"(Join ranks on a 3D grid by lines, the 3D hypercube of [TACOS, Table IV].

The same as mesh with three dimensions. The binary n-cube that other papers call a hypercube is mesh([2] * n).)",
                    kGridParameters)
            .c_str());
  t.def(
      "grid",
      [](const std::vector<int>& dims, const std::vector<std::string>& wires, const PerItem& latency_s,
         const PerItem& bandwidth, const PerItem& message_s) {
        return grid(dimensions_of(wires, dims, latency_s, bandwidth, message_s));
      },
      "dims"_a, "wires"_a, nb::kw_only(), nb::call_guard<LongCall>(), "latency_s"_a, "bandwidth"_a,
      "message_s"_a = 0.0,
      builder_doc(
          "Join ranks on an n-dimensional grid, each dimension in its own way.",
          (std::string(kGridParameters) +
           "wires : per dimension 'line', 'ring', 'fully_connected' or 'switch' (a switch for every row).\n")
              .c_str())
          .c_str());
}

void bind_papers(nb::module_& t) {
  t.def(
      "switch_2d", fixed_grid("switch_2d", {2, Wires::switched}), "dims"_a, nb::kw_only(),
      nb::call_guard<LongCall>(), "latency_s"_a, "bandwidth"_a, "message_s"_a = 0.0,
      builder_doc(
          R"(Join ranks on a 2D grid by a switch for every row and every column: the 2D switch of [TACOS, Table IV].

The paper's is switch_2d([8, 4], latency_s=0.5e-6, bandwidth=[300e9, 25e9]); bandwidths are those of ports.)",
          kGridParameters)
          .c_str());
  t.def(
      "rfs_3d", fixed_grid("rfs_3d", {Wires::ring, Wires::all_pairs, Wires::switched}), "dims"_a,
      nb::kw_only(), nb::call_guard<LongCall>(), "latency_s"_a, "bandwidth"_a, "message_s"_a = 0.0,
      builder_doc(
          R"(Join ranks on a 3D grid by rings, all pairs and switches: the 3D ring-FC-switch of [TACOS, Table IV].

The paper's has dims [2, 4, nodes] and bandwidths [200e9, 100e9, 50e9]; we read them as those of one link of a ring (each
way), one link of a pair, and one port of a switch. A ring of two is one link each way.)",
          kGridParameters)
          .c_str());
  t.def(
      "dragonfly",
      [](const std::vector<int>& dims, const PerItem& latency_s, const PerItem& bandwidth,
         const PerItem& message_s) {
        if (dims.size() != 2)
          throw ArgumentError("dragonfly: expected dims [ranks per group, groups], found " +
                              std::to_string(dims.size()) + " numbers");
        const std::vector<double> latencies = values_of(latency_s, 2, "latency");
        const std::vector<double> bandwidths = values_of(bandwidth, 2, "bandwidth");
        const std::vector<double> messages = values_of(message_s, 2, "cost of a message");
        return dragonfly({dims[0], dims[1]}, link_cost(latencies[0], bandwidths[0], messages[0]),
                         link_cost(latencies[1], bandwidths[1], messages[1]));
      },
      "dims"_a, nb::kw_only(), nb::call_guard<LongCall>(), "latency_s"_a, "bandwidth"_a, "message_s"_a = 0.0,
      builder_doc(
          "Join ranks into fully connected groups, and every two groups by one global link [kim2008].",
          R"(dims : [ranks per group, groups]. With one group more than ranks in a group, every rank has one global link. The
    DragonFly of [TACOS, §VI-B] is dragonfly([4, 5], latency_s=0.5e-6, bandwidth=[400e9, 200e9]).
latency_s, bandwidth : one number, or [within a group, between groups]; seconds and bytes per second, of a link.
message_s : the same, seconds that a message occupies a link beside its bytes.
)")
          .c_str());
}

}  // namespace

std::string builder_doc(const char* text, const char* parameters) {
  return std::string(text) + "\n\nParameters\n----------\n" + parameters +
         "\nReturns\n-------\nTopology\n\nRaises\n------\nArgumentError\n"
         "    A number out of its range, a list that does not fit the others, or a network larger than a "
         "Topology may "
         "be.\n";
}

void bind_topologies(nb::module_& m) {
  nb::module_ t = m.def_submodule("topologies", "Builders of common networks.");
  bind_flat(t);
  bind_grids(t);
  bind_papers(t);
  bind_machines(t);
}

}  // namespace hemiola::bindings
