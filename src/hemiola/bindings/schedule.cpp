#include "hemiola/schedule/schedule.hpp"

#include <nanobind/stl/string_view.h>

#include "hemiola/bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {

void bind_schedule(nb::module_& m) {
  nb::class_<Collective>(m, "Collective")
      .def_prop_ro("kind", [](const Collective& c) { return name_of(c.kind()); })
      .def_prop_ro("rank_count", &Collective::rank_count)
      .def_prop_ro("chunk_count", &Collective::chunk_count);
  nb::class_<Schedule>(m, "Schedule")
      .def_prop_ro("collective", &Schedule::collective)
      .def_prop_ro("rank_count", &Schedule::rank_count)
      .def_prop_ro("chunk_count", &Schedule::chunk_count)
      .def_prop_ro("step_count", &Schedule::step_count)
      .def_prop_ro("transfer_count", &Schedule::transfer_count);
}

}  // namespace hemiola::bindings
