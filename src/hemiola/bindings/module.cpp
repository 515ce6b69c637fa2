// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bindings/bindings.hpp"

NB_MODULE(_core, m) {
  using namespace hemiola::bindings;
  m.doc() = "Hemiola's C++ core; import hemiola instead.";
  // Objects that a caller's module globals keep alive until the interpreter ends are no leak of ours.
  nanobind::set_leak_warnings(false);
  bind_pickling(m);
  bind_errors(m);
  bind_units(m);
  bind_whole_file(m);
  bind_topology(m);
  bind_collective(m);
  bind_topologies(m);
  bind_schedule(m);
  bind_schedule_parts(m);
  bind_schedule_file(m);
  bind_schedule_transformations(m);
  bind_verify(m);
  bind_algorithms(m);
  bind_algorithm_tasks(m);
  bind_assignment(m);
  bind_algorithm_functions(m);
  bind_simulate(m);
  bind_synthesis(m);
  bind_bounds(m);
  bind_raw_memory(m);
  bind_premul_sum(m);
  answer_in_words(m);
  bind_long_calls(m);
  bind_codecs(m);
  bind_session(m);
  bind_mpi(m);
  bind_runtime(m);
  bind_remembered_call(m);
  bind_operation_table(m);
  bind_ucx(m);
}
