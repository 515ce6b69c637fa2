// SPDX-License-Identifier: Apache-2.0
// The parts in which hemiola.Topology and hemiola.topologies are bound.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "hemiola/topology/topology.hpp"

namespace hemiola::bindings {

/// Rows (src, dst, latency_s, bandwidth, message_s), without the last where a message costs nothing, or an array such as
/// Topology.links, or as it was before messages had a cost.
std::vector<Link> links_from(const nanobind::object& rows);
/// Copies with something missing, slower, repeated or unwound.
void bind_topology_copies(nanobind::class_<Topology>& topology);
/// Files, text and graphs that hemiola.topology (Python) reads and writes.
void bind_topology_formats(nanobind::class_<Topology>& topology);
/// A builder's docstring: its own text, its parameters, and the results and errors of all builders.
std::string builder_doc(const char* text, const char* parameters);
/// Hosts, boxes and racks, into the module of builders.
void bind_machines(nanobind::module_& topologies);

}  // namespace hemiola::bindings
