// Algorithms made for a topology, or for the dimensions of a grid.
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "hemiola/algorithms/c_cube.hpp"
#include "hemiola/algorithms/grid_all_reduce.hpp"
#include "hemiola/algorithms/multitree.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/dimensions.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

constexpr const char* kMultitreeDoc =
    R"(Grow one tree per rank, all at once, so that no link is used twice in a step.

Parameters
----------
topology : Topology without switches, in which all ranks reach each other. Links count as alike.

Returns
-------
Schedule, one chunk per rank.

Raises
------
ArgumentError
    if the topology has switches, or some rank cannot reach another.

Notes
-----
Deterministic. At most one chunk a link and step; steps are close to (n-1) / smallest degree on meshes and tori. About
0.7 s for a 32 x 32 torus. Trees take turns and add one edge a turn [huang2021]; the reduce-scatter is the all-gather
over the reversed links, backwards, and the all-reduce is one after the other.)";

constexpr const char* kGridParameters = R"(

Parameters
----------
dims, wires, latency_s, bandwidth : as hemiola.topologies.grid takes them.
nbytes : int >= 0, one rank's buffer; with the links' costs it decides which part is where at a time.
chunk_count : int >= 1, parts that the buffer is cut into.

Returns
-------
Schedule, of chunk_count parts of one chunk per rank, or two per rank where there are rings or lines.

Raises
------
ArgumentError
    if the dimensions make no grid, an argument is out of range, or there would be more than 2**28 transfers.

Notes
-----
Deterministic. Rings and lines use the ring algorithm, half of a part each way round; fully connected and switched
dimensions exchange directly. A dimension serves one exchange at a time: the one that can begin first, the
lowest part's of several. )";

constexpr const char* kCCubeDoc =
    R"(All-reduce along two binary trees of a DGX-1, reduce and broadcast overlapped.

Parameters
----------
chunk_count : int, even, >= 2; half of the chunks take each tree.

Returns
-------
Schedule for 8 ranks, numbered as the GPUs of a DGX-1 (V100).

Raises
------
ArgumentError
    if chunk_count is odd or below 2.

Notes
-----
chunk_count / 2 + 5 steps, in each of which a link carries at most one chunk. Source: [cho2023]. The paper routes
edges that its trees lack over a third rank; these trees lack none.)";

using AllReduce = Schedule (*)(const algorithms::GridLoad& load);

void bind_grid(nb::module_& a, const char* name, AllReduce all_reduce, int chunk_count,
               const std::string& doc) {
  a.def(
      name,
      [all_reduce](const std::vector<int>& dims, const std::vector<std::string>& wires,
                   const PerItem& latency_s, const PerItem& bandwidth, std::int64_t nbytes, int chunks) {
        return all_reduce({dimensions_of(wires, dims, latency_s, bandwidth), nbytes, chunks});
      },
      "dims"_a, "wires"_a, nb::kw_only(), "latency_s"_a, "bandwidth"_a, "nbytes"_a,
      "chunk_count"_a = chunk_count, doc.c_str(), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void bind_topology_algorithms(nb::module_& m) {
  nb::module_ a = nb::borrow<nb::module_>(m.attr("algorithms"));
  const nb::call_guard<nb::gil_scoped_release> no_gil;
  a.def("all_gather_multitree", &algorithms::all_gather_multitree, "topology"_a, kMultitreeDoc, no_gil);
  a.def("reduce_scatter_multitree", &algorithms::reduce_scatter_multitree, "topology"_a, kMultitreeDoc,
        no_gil);
  a.def("all_reduce_multitree", &algorithms::all_reduce_multitree, "topology"_a, kMultitreeDoc, no_gil);
  bind_grid(
      a, "all_reduce_blueconnect", &algorithms::all_reduce_blueconnect, 1,
      std::string(
          "Reduce-scatter along each dimension of a grid in turn, then all-gather along them in reverse.") +
          kGridParameters + "Source: [cho2019].");
  bind_grid(
      a, "all_reduce_themis", &algorithms::all_reduce_themis, 64,
      std::string("All-reduce on a grid, each part beginning in the dimension that has least to do so far.") +
          kGridParameters + "Source: [rashidi2022].");
  a.def("all_reduce_c_cube", &algorithms::all_reduce_c_cube, nb::kw_only(), "chunk_count"_a = 16, kCCubeDoc,
        no_gil);
}

}  // namespace hemiola::bindings
