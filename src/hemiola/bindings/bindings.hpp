// SPDX-License-Identifier: Apache-2.0
// One function per layer fills the Python module; conversion only, no logic.
#pragma once

#include <nanobind/nanobind.h>

namespace hemiola::bindings {

void bind_errors(nanobind::module_& m);
void bind_pickling(nanobind::module_& m);
void bind_units(nanobind::module_& m);
void bind_long_calls(nanobind::module_& m);
void bind_whole_file(nanobind::module_& m);
void bind_topology(nanobind::module_& m);
void bind_collective(nanobind::module_& m);
void bind_topologies(nanobind::module_& m);
void bind_schedule(nanobind::module_& m);
void bind_schedule_parts(nanobind::module_& m);
void bind_schedule_file(nanobind::module_& m);
void bind_schedule_transformations(nanobind::module_& m);
void bind_verify(nanobind::module_& m);
void bind_algorithms(nanobind::module_& m);
void bind_algorithm_functions(nanobind::module_& m);
void bind_algorithm_tasks(nanobind::module_& m);
void bind_assignment(nanobind::module_& m);
void bind_simulate(nanobind::module_& m);
void bind_synthesis(nanobind::module_& m);
void bind_bounds(nanobind::module_& m);
void bind_codecs(nanobind::module_& m);
void bind_session(nanobind::module_& m);
void bind_mpi(nanobind::module_& m);
void bind_raw_memory(nanobind::module_& m);
void bind_premul_sum(nanobind::module_& m);
void bind_operation_table(nanobind::module_& m);
void bind_runtime(nanobind::module_& m);
void bind_remembered_call(nanobind::module_& m);
void bind_ucx(nanobind::module_& m);

/// Lets every function in a module, its submodules and classes answer arguments of the wrong type in the API's own
/// words, and inspect.signature. For functions that people call; the runtime's classes stand behind Python's.
void answer_in_words(nanobind::handle scope);

}  // namespace hemiola::bindings
