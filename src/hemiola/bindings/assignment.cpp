// SPDX-License-Identifier: Apache-2.0
// Assignments of rows to columns, for generators in Python.
#include "hemiola/base/assignment.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "hemiola/base/error.hpp"
#include "hemiola/bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {

using Costs = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void bind_assignment(nb::module_& m) {
  nb::borrow<nb::module_>(m.attr("algorithms"))
      .def(
          "assignment",
          [](const Costs& cost) {
            if (cost.shape(0) != cost.shape(1))
              throw ArgumentError("assignment: expected as many rows as columns, found " +
                                  std::to_string(cost.shape(0)) + " and " + std::to_string(cost.shape(1)));
            return assignment({cost.data(), cost.size()}, static_cast<int>(cost.shape(0)));
          },
          "cost"_a, nb::sig("def assignment(cost: numpy.typing.NDArray[numpy.float64]) -> list[int] | None"),
          "Return the column of each row at the least total cost, or None where each assignment has an "
          "infinite one.");
}

}  // namespace hemiola::bindings
