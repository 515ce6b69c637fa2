// SPDX-License-Identifier: Apache-2.0
#include "hemiola/bindings/long_call.hpp"

#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>
#include <string>

#include "hemiola/bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {

void bind_long_calls(nb::module_& m) {
  nb::class_<Budget>(
      m, "Budget",
      "How many small operations of the core, of about 3 ns, the work within its context may take. Beyond, "
      "BudgetSpentError is raised. Contexts nest, and each counts for all around it.")
      .def(
          "__init__",
          [](Budget* self, std::optional<std::int64_t> limit) {
            if (limit && *limit < 0)
              throw ArgumentError("expected a limit of at least 0 operations, found " +
                                  std::to_string(*limit));
            new (self) Budget(limit.value_or(Budget::kUnlimited));
          },
          "limit"_a.none() = nb::none())
      .def_prop_ro(
          "limit",
          [](const Budget& budget) {
            return budget.is_limited() ? std::optional<std::int64_t>(budget.limit()) : std::nullopt;
          },
          "None: no limit.")
      .def_prop_ro("spent", &Budget::spent, "Operations so far.")
      .def("__enter__",
           [](nb::object self) {
             nb::cast<Budget&>(self).enter();
             return self;
           })
      .def(
          "__exit__", [](Budget& budget, nb::args) { budget.leave(); },
          nb::sig("def __exit__(self, *error: object) -> None"));
  m.def("spend", &heed_interrupt, "operations"_a,
        "Count small operations that were done in Python: the budgets of this thread pay.");
  m.def("watch_long_calls", &LongCall::watch, "watcher"_a.none(),
        "From now on call `watcher` in this thread with the share of a long call that is behind, where that "
        "is known; "
        "None: nobody. Return who was before.");
}

}  // namespace hemiola::bindings
