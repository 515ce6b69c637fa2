// One function per layer fills the Python module; conversion only, no logic.
#pragma once

#include <nanobind/nanobind.h>

namespace hemiola::bindings {

void bind_errors(nanobind::module_& m);
void bind_units(nanobind::module_& m);
void bind_topology(nanobind::module_& m);
void bind_collective(nanobind::module_& m);
void bind_topologies(nanobind::module_& m);
void bind_schedule(nanobind::module_& m);
void bind_schedule_parts(nanobind::module_& m);
void bind_schedule_file(nanobind::module_& m);
void bind_schedule_transformations(nanobind::module_& m);
void bind_verify(nanobind::module_& m);
void bind_algorithms(nanobind::module_& m);
void bind_conditional_algorithms(nanobind::module_& m);
void bind_topology_algorithms(nanobind::module_& m);
void bind_simulate(nanobind::module_& m);
void bind_synthesis(nanobind::module_& m);
void bind_bounds(nanobind::module_& m);
void bind_runtime(nanobind::module_& m);

}  // namespace hemiola::bindings
