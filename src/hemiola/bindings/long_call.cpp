#include "hemiola/bindings/long_call.hpp"

#include "hemiola/bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hemiola::bindings {

void bind_long_calls(nb::module_& m) {
  m.def("watch_long_calls", &LongCall::watch, "watcher"_a.none(),
        "From now on call `watcher` in this thread with the share of a long call that is behind, where that "
        "is known; "
        "None: nobody. Return who was before.");
}

}  // namespace hemiola::bindings
