// SPDX-License-Identifier: Apache-2.0
// The MPI that has started a job, for ranks that meet by it or talk by it.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "hemiola/base/deadline.hpp"
#include "hemiola/bindings/bindings.hpp"
#include "hemiola/bindings/bytes.hpp"
#include "hemiola/bindings/gil.hpp"
#include "hemiola/bindings/signals.hpp"
#include "hemiola/runtime/wire/mpi/mpi_library.hpp"
#include "hemiola/runtime/wire/mpi/mpi_world.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {
namespace {

nb::bytes broadcast(const nb::bytes& own, double timeout_s) {
  Bytes bytes = bytes_of(own);
  {
    const GilReleased release;
    const Deadline deadline(timeout_s, raise_signals);
    const auto world = MpiWorld::of_process();
    world->enter(deadline);
    bytes = world->broadcast(std::move(bytes), deadline);
  }
  return to_python(bytes);
}

nb::dict find_mpi(const std::vector<std::string>& libraries) {
  const auto library = open_mpi_library(libraries);
  nb::dict found;
  found["version"] = library->version();
  found["path"] = library->path();
  return found;
}

}  // namespace

void bind_mpi(nb::module_& m) {
  m.def(
      "announce_mpi",
      [](int rank, int rank_count, std::vector<std::string> libraries) {
        MpiWorld::announce({Rank{rank}, rank_count, std::move(libraries)});
      },
      nb::kw_only(), "rank"_a, "rank_count"_a, "libraries"_a,
      "An MPI has started this process; its library is one of these, unless one is loaded.");
  m.def("find_mpi", &find_mpi, "libraries"_a,
        "The MPI that ranks would use here, opened but not initialized: version and path.");
  m.def("broadcast_by_mpi", &broadcast, "own"_a, "timeout_s"_a,
        "Rank 0's bytes, on all ranks of the job, each of which calls this.");
  m.def(
      "leave_mpi",
      [](bool all_is_well, double timeout_s) {
        const GilReleased release;
        MpiWorld::leave(all_is_well, Deadline(timeout_s, raise_signals));
      },
      nb::kw_only(), "all_is_well"_a, "timeout_s"_a,
      "Finalize MPI where it was initialized by us. After a time-out call again to go on waiting.");
}

}  // namespace hemiola::bindings
