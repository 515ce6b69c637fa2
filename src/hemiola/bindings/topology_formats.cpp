// SPDX-License-Identifier: Apache-2.0
// Methods of hemiola.Topology whose work is done in Python, where YAML, XML, HTML and NetworkX are: hemiola.topology.
#include "hemiola/bindings/topology.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

nb::object call(const char* module, const char* function, nb::handle argument) {
  return nb::module_::import_(module).attr(function)(argument);
}

}  // namespace

void bind_topology_formats(nb::class_<Topology>& topology) {
  topology
      .def_static(
          "load",
          [](nb::object path, nb::object nvlink, nb::object nic, nb::object pcie) {
            return nb::module_::import_("hemiola.topology.files")
                .attr("load")(path, "nvlink_bandwidth"_a = nvlink, "nic_bandwidth"_a = nic,
                              "pcie_bandwidth"_a = pcie);
          },
          "path"_a, nb::kw_only(), "nvlink_bandwidth"_a = nb::none(), "nic_bandwidth"_a = nb::none(),
          "pcie_bandwidth"_a = nb::none(),
          nb::sig("def load(path: str | os.PathLike[str], *, nvlink_bandwidth: float | None = None, "
                  "nic_bandwidth: float | None = None, pcie_bandwidth: float | None = None) -> Topology"),
          R"(Read a topology from a file.

Parameters
----------
path : a YAML file (docs/reference/formats/topology.md), NCCL's topology XML (NCCL_TOPO_DUMP_FILE) or log
    (NCCL_DEBUG_SUBSYS=GRAPH), or the output of ``nvidia-smi topo -m``, ``rocm-smi --showtopo`` or ``amd-smi topology``;
    told apart by content.
nvlink_bandwidth, nic_bandwidth, pcie_bandwidth : float > 0, bytes per second of one NVLink or xGMI link, of one NIC and of
    one PCIe link, which nvidia-smi, rocm-smi and amd-smi do not print: by default 20e9 or 48e9, NICs are left out, and 24e9.

Returns
-------
Topology

Raises
------
ArgumentError
    A bandwidth that is not above 0, or given for a file that holds its own.
FormatError
    The file is none of these, malformed or too large; names file, line and the expected content.
OSError
    The file cannot be read.

Warns
-----
TopologyWarning
    A figure that cannot be; names file, line and the value used instead.
)")
      .def("_repr_html_", [](nb::handle self) { return call("hemiola.topology.notebook", "html_of", self); })
      .def(
          "save",
          [](nb::handle self, nb::object path) {
            nb::module_::import_("hemiola.topology.files").attr("save")(self, path);
          },
          "path"_a, nb::sig("def save(self, path: str | os.PathLike[str]) -> None"),
          R"(Write the topology to a YAML file that `load` reads back as an equal topology.

Parameters
----------
path : str or os.PathLike.

Raises
------
OSError
    The file cannot be written.
)")
      .def_static(
          "from_yaml", [](nb::str text) { return call("hemiola.topology.yaml_reader", "from_yaml", text); },
          "text"_a, nb::sig("def from_yaml(text: str) -> Topology"),
          R"(Read a topology from YAML text.

Parameters
----------
text : str (docs/reference/formats/topology.md).

Returns
-------
Topology

Raises
------
FormatError
    The text is malformed; names line, key and the expected content.
)")
      .def(
          "to_yaml", [](nb::handle self) { return call("hemiola.topology.yaml_writer", "to_yaml", self); },
          nb::sig("def to_yaml(self) -> str"),
          R"(Write YAML text that `from_yaml` reads back as an equal topology.

Returns
-------
str
)")
      .def_static(
          "from_networkx",
          [](nb::object graph) { return call("hemiola.topology.graphs", "from_networkx", graph); }, "graph"_a,
          nb::sig("def from_networkx(graph: networkx.Graph[typing.Any]) -> Topology"),
          R"(Build a topology from a NetworkX graph of any kind.

Parameters
----------
graph : networkx.Graph. Vertices with a true `switch` attribute are switches, all others ranks, both numbered in the
    graph's order. A `node` attribute (any value) names a rank's host. Edges need `latency_s` and `bandwidth` and
    may have `message_s`; without a direction they become links both ways. An edge's `nic`, "HOST/NAME" or a list of these, says which network cards it
    is part of. The graph's `name` is the topology's.

Returns
-------
Topology

Raises
------
ArgumentError
    No rank, an edge without these attributes or with bad ones, a NIC of no host.
)")
      .def(
          "to_networkx", [](nb::handle self) { return call("hemiola.topology.graphs", "to_networkx", self); },
          nb::sig("def to_networkx(self) -> networkx.MultiDiGraph[int]"),
          R"(Return the network as a graph of NetworkX.

Returns
-------
networkx.MultiDiGraph, with the attributes that `from_networkx` reads.
)");
}

}  // namespace hemiola::bindings
