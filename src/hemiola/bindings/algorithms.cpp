#include "hemiola/algorithms/ring.hpp"
#include "hemiola/bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {

void bind_algorithms(nb::module_& m) {
  nb::module_ a = m.def_submodule("algorithms");
  a.def("all_reduce_ring", &algorithms::all_reduce_ring, "rank_count"_a);
}

}  // namespace hemiola::bindings
